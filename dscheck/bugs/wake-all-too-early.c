/* SPDX-License-Identifier: MIT */
/*
 * A consumer that looks whether the queue is empty, and then, under the lock, waits to be told.  The producer's
 * wake-all may come between the look and the wait: it wakes nobody, and the consumer waits for ever.
 *
 * Repaired: it looks under the lock under which it waits, and the producer wakes under it.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static _Atomic(int) items;

static void *producer(void *arg)
{
#ifdef REPAIRED
    pthread_mutex_lock(&lock);
#endif
    atomic_fetch_add(&items, 1);
    pthread_cond_broadcast(&filled);
#ifdef REPAIRED
    pthread_mutex_unlock(&lock);
#endif
    return arg;
}

static void *consumer(void *arg)
{
#ifdef REPAIRED
    pthread_mutex_lock(&lock);
    while (atomic_load(&items) == 0)
        pthread_cond_wait(&filled, &lock);
    pthread_mutex_unlock(&lock);
#else
    if (atomic_load(&items) == 0) {
        pthread_mutex_lock(&lock);
        pthread_cond_wait(&filled, &lock);
        pthread_mutex_unlock(&lock);
    }
#endif
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, producer, NULL);
    pthread_create(&t[1], NULL, consumer, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
