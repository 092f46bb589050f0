/* SPDX-License-Identifier: MIT */
/*
 * A queue of one producer and one consumer that publishes its index before it writes the element: the consumer may read
 * the slot first.
 *
 * Repaired: the element, then the index.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static int slot[2];
static _Atomic(int) tail;

static void *producer(void *arg)
{
    for (int i = 0; i < 2; i++) {
#ifdef REPAIRED
        slot[i] = i + 1;
        atomic_store(&tail, i + 1);
#else
        atomic_store(&tail, i + 1);
        slot[i] = i + 1;
#endif
    }
    return arg;
}

static void *consumer(void *arg)
{
    for (int head = 0; head < 2 && atomic_load(&tail) != head; head++)
        assert(slot[head] == head + 1);
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
