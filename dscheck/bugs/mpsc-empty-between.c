/* SPDX-License-Identifier: MIT */
/*
 * Vyukov's queue of many producers and one consumer, read as *empty* while a producer stands between its exchange of
 * the head and its link: whatever others push behind it is hidden.  A push that returned before the pop began is not
 * found, so the queue is not linearizable, and a consumer that goes to sleep on that answer may sleep for ever.
 *
 * Repaired: pop tells empty (the head is the last node seen) from *not linked yet*, and waits for the link.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { NODES = 3 };
static _Atomic(int) head = 1, next[NODES + 1]; /* numbers of nodes; node 1 is the stub */
static int tail = 1;                           /* the consumer's */
static _Atomic(int) returned;                  /* pushes that have */

static void push(int node)
{
    int before = atomic_exchange(&head, node);
    atomic_store(&next[before], node);
    atomic_fetch_add(&returned, 1);
}

static int pop(void)
{
    int node = atomic_load(&next[tail]);
#ifdef REPAIRED
    if (node == 0 && atomic_load(&head) == tail)
        return 0;
    while (node == 0)
        node = atomic_load(&next[tail]);
#endif
    if (node != 0)
        tail = node;
    return node;
}

static void *producer(void *arg)
{
    push(*(int *)arg);
    return NULL;
}

static void *consumer(void *arg)
{
    int before = atomic_load(&returned);
    int node = pop();
    assert(before == 0 || node != 0); /* else told *empty* while there is an item */
    return arg;
}

int main(void)
{
    static int node[] = {2, 3};
    pthread_t t[3];
    pthread_create(&t[0], NULL, producer, &node[0]);
    pthread_create(&t[1], NULL, producer, &node[1]);
    pthread_create(&t[2], NULL, consumer, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
