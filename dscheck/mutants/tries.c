/* SPDX-License-Identifier: MIT */
/* Loops of tries: each waits, and none is a compare-and-exchange, so it does so whatever retries are taken for. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t units;

static void *waits(void *arg)
{
    while (pthread_mutex_trylock(&mutex) != 0)
        ;
    pthread_mutex_unlock(&mutex);
    while (pthread_rwlock_tryrdlock(&lock) != 0)
        ;
    pthread_rwlock_unlock(&lock);
    while (sem_trywait(&units) != 0)
        ;
    return arg;
}

static void *sets(void *arg)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
    sem_post(&units);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, sets, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
