/* check: ok
 * A wait with a deadline: it may be signalled or time out, and either way nothing is lost. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool ready, given_up;

static void *waiter(void *arg)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_mutex_lock(&lock);
    int error = 0;
    while (!ready && error == 0)
        error = pthread_cond_timedwait(&cond, &lock, &until);
    if (!ready) {
        if (error != ETIMEDOUT)
            fprintf(stderr, "timedwait: %s\n", strerror(error));
        assert(error == ETIMEDOUT);
        given_up = true;
    }
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *setter(void *arg)
{
    pthread_mutex_lock(&lock);
    ready = true;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, waiter, NULL);
    pthread_create(&t[1], NULL, setter, NULL);
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++)
        pthread_join(t[i], NULL);
    assert(ready);
    return given_up && !ready;
}
