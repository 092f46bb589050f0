/* SPDX-License-Identifier: MIT */
/* A signal that finds nobody changes nothing, and is no turn of a loop: the read before it is not done again. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
static atomic_int x;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void *waits(void *arg)
{
    struct timespec t = {0, 0};
    pthread_mutex_lock(&m);
    pthread_cond_timedwait(&c, &m, &t);
    pthread_mutex_unlock(&m);
    return arg;
}
static void *signals(void *arg)
{
    atomic_load(&x);
    pthread_cond_signal(&c);
    return arg;
}
int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, waits, NULL);
    pthread_create(&t[1], NULL, signals, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
