/* SPDX-License-Identifier: MIT */
/*
 * A free list as a stack without a tag.  One thread stands between its look at the top node's successor and its
 * compare-and-exchange; meanwhile the top node is taken, the next one too, and the first is given back.  The exchange
 * succeeds, and the list's top is a node that somebody has.
 *
 * Repaired: the top carries a number that grows with each change.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { NODES = 2, TAG = 16 };
static _Atomic(unsigned) top; /* the number of a node, 0 if there is none; above it the tag, if any */
static _Atomic(unsigned) next[NODES + 1];
static _Atomic(int) owners[NODES + 1];

static unsigned tagged(unsigned node, unsigned old)
{
#ifdef REPAIRED
    return old / TAG * TAG + TAG + node;
#else
    (void)old;
    return node;
#endif
}

static unsigned take(void)
{
    unsigned old = atomic_load(&top), node;
    do {
        node = old % TAG;
        if (node == 0)
            return 0;
    } while (!atomic_compare_exchange_strong(&top, &old, tagged(atomic_load(&next[node]), old)));
    int others = atomic_fetch_add(&owners[node], 1);
    assert(others == 0); /* else it has two owners */
    return node;
}

static void give(unsigned node)
{
    unsigned old = atomic_load(&top);
    atomic_fetch_sub(&owners[node], 1);
    do
        atomic_store(&next[node], old % TAG);
    while (!atomic_compare_exchange_strong(&top, &old, tagged(node, old)));
}

static void *one(void *arg)
{
    take();
    return arg;
}

static void *two(void *arg)
{
    unsigned first = take();
    take();
    if (first != 0)
        give(first);
    return arg;
}

int main(void)
{
    pthread_t t[2];
    atomic_init(&top, 1);
    atomic_init(&next[1], 2);
    pthread_create(&t[0], NULL, one, NULL);
    pthread_create(&t[1], NULL, two, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    take();
    take();
    return 0;
}
