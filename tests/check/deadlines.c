/* check: ok
 * A try-lock that gives up, a lock with a deadline, a recursive mutex with attributes. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t outer, inner = PTHREAD_MUTEX_INITIALIZER;
static int n;

static void *thread(void *arg)
{
    struct timespec until = {.tv_sec = time(NULL) + 1};
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&outer);
    int error = pthread_mutex_timedlock(&inner, &until);
    if (error == 0) {
        n++;
        pthread_mutex_unlock(&inner);
    } else {
        assert(error == ETIMEDOUT);
    }
    pthread_mutex_unlock(&outer);
    pthread_mutex_unlock(&outer);
    return arg;
}

static void *other(void *arg)
{
    if (pthread_mutex_trylock(&inner) == 0) {
        n += 10;
        pthread_mutex_unlock(&inner);
    }
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&outer, &attr);
    pthread_mutexattr_destroy(&attr);
    pthread_create(&t[0], NULL, thread, NULL);
    pthread_create(&t[1], NULL, other, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    pthread_mutex_destroy(&outer);
    assert(n == 0 || n == 1 || n == 10 || n == 11);
    return 0;
}
