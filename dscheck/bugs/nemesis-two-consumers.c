/* SPDX-License-Identifier: MIT */
/*
 * A Nemesis queue, which has one consumer, with two: both find the same head.
 *
 * Repaired: they take turns under a lock.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { NODES = 2 };
static _Atomic(int) head, tail, next[NODES + 1]; /* numbers of nodes, 0: none */
#ifdef REPAIRED
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
#endif
static int got[2];

static void push(int node)
{
    int before = atomic_exchange(&tail, node);
    if (before == 0)
        atomic_store(&head, node);
    else
        atomic_store(&next[before], node);
}

static int pop(void)
{
    int node = atomic_load(&head);
    if (node == 0)
        return 0;
    int after = atomic_load(&next[node]);
    atomic_store(&head, after);
    if (after == 0) {
        int last = node;
        if (!atomic_compare_exchange_strong(&tail, &last, 0)) {
            while ((after = atomic_load(&next[node])) == 0)
                ;
            atomic_store(&head, after);
        }
    }
    return node;
}

static void *consumer(void *arg)
{
#ifdef REPAIRED
    pthread_mutex_lock(&turn);
#endif
    *(int *)arg = pop();
#ifdef REPAIRED
    pthread_mutex_unlock(&turn);
#endif
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    push(1);
    push(2);
    pthread_create(&t[0], NULL, consumer, &got[0]);
    pthread_create(&t[1], NULL, consumer, &got[1]);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(got[0] != got[1]); /* else taken twice */
    return 0;
}
