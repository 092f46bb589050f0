/* SPDX-License-Identifier: MIT */
/*
 * A Nemesis queue: producers exchange the tail, and link the node behind the one that they found, or make it the head
 * if there was none.  Only the exchange is atomic; the consumer looks at head and next while producers write them.
 *
 * Repaired: head and next are atomic too.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { NODES = 2 };
#ifdef REPAIRED
typedef _Atomic(int) link;
#else
typedef int link;
#endif
static link head, next[NODES + 1]; /* numbers of nodes, 0: none */
static _Atomic(int) tail;
static int value[NODES + 1];

static void push(int node)
{
    value[node] = 10 * node;
    next[node] = 0;
    int before = atomic_exchange(&tail, node);
    if (before == 0)
        head = node;
    else
        next[before] = node;
}

static int pop(void)
{
    int node = head;
    if (node == 0)
        return 0;
    int after = next[node];
    head = after;
    if (after == 0) {
        int last = node;
        if (!atomic_compare_exchange_strong(&tail, &last, 0)) {
            while ((after = next[node]) == 0)
                ;
            head = after;
        }
    }
    return node;
}

static void *producer(void *arg)
{
    push(*(int *)arg);
    return NULL;
}

static void *consumer(void *arg)
{
    int node = pop();
    assert(node == 0 || value[node] == 10 * node);
    return arg;
}

int main(void)
{
    static int node[] = {1, 2};
    pthread_t t[3];
    pthread_create(&t[0], NULL, producer, &node[0]);
    pthread_create(&t[1], NULL, producer, &node[1]);
    pthread_create(&t[2], NULL, consumer, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
