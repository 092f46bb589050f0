/* SPDX-License-Identifier: MIT */
/*
 * A bounded ring whose cursors are counted modulo its capacity: when it is full, head and tail are equal, as they are
 * when it is empty.  The producer overwrites what has not been read.
 *
 * Repaired: the cursors run on, and only the slot is taken modulo the capacity.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { CAPACITY = 2, ITEMS = 3 };
#ifdef REPAIRED
enum { WRAP = 1 << 30 };
#else
enum { WRAP = CAPACITY };
#endif
static _Atomic(int) head, tail, slot[CAPACITY];
static int pushed, popped; /* the producer's, the consumer's */

static bool push(int item)
{
    int t = atomic_load(&tail);
    if ((t - atomic_load(&head) + WRAP) % WRAP >= CAPACITY)
        return false;
    atomic_store(&slot[t % CAPACITY], item);
    atomic_store(&tail, (t + 1) % WRAP);
    return true;
}

static int pop(void)
{
    int h = atomic_load(&head);
    if (h == atomic_load(&tail))
        return 0;
    int item = atomic_load(&slot[h % CAPACITY]);
    atomic_store(&head, (h + 1) % WRAP);
    return item;
}

static void *producer(void *arg)
{
    while (pushed < ITEMS && push(pushed + 1))
        pushed++;
    return arg;
}

static void *consumer(void *arg)
{
    int item = pop();
    if (item != 0)
        assert(item == ++popped); /* else one was lost */
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, producer, NULL);
    pthread_create(&t[1], NULL, consumer, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    for (int item; (item = pop()) != 0;)
        assert(item == ++popped);
    assert(popped == pushed); /* else some were lost */
    return 0;
}
