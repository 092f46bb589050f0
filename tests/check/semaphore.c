/* check: ok
 * Ping and pong with two semaphores, started with attributes, one of them detached. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static sem_t ping, pong;
static int turns;

static void *one(void *arg)
{
    for (int i = 0; i < 2; i++) {
        sem_wait(&ping);
        assert(turns++ % 2 == 0);
        sem_post(&pong);
    }
    pthread_exit(arg);
}

static void *other(void *arg)
{
    for (int i = 0; i < 2; i++) {
        while (sem_wait(&pong) != 0)
            ;
        assert(turns++ % 2 == 1);
        sem_post(&ping);
    }
    return arg;
}

int main(void)
{
    pthread_t a;
    pthread_t b;
    pthread_attr_t attr;
    void *result;
    int what = 5;
    sem_init(&ping, 0, 1);
    sem_init(&pong, 0, 0);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 * 1024);
    pthread_create(&a, &attr, one, &what);
    pthread_create(&b, &attr, other, NULL);
    pthread_attr_destroy(&attr);
    pthread_join(a, &result);
    pthread_join(b, NULL);
    assert(*(int *)result == 5);
    sem_destroy(&ping);
    sem_destroy(&pong);
    return turns == 4 ? EXIT_SUCCESS : EXIT_FAILURE;
}
