/* SPDX-License-Identifier: MIT */
/*
 * A work-stealing queue whose head is so narrow that it comes round while a thief stands between its look and its
 * compare-and-exchange: the exchange finds the head that it expects, and takes an item for the second time.
 *
 * The index has one bit here, so that two operations of the owner are a lap.  Repaired: as wide as it takes never to
 * come round.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifdef REPAIRED
enum { MASK = 0x7fffffff };
#else
enum { MASK = 1 };
#endif

static _Atomic(int) head, tail, slot; /* room for one item */
static int got[4], n;                 /* the owner's */
static int stolen;                    /* the thief's */

static void push(int item)
{
    atomic_store(&slot, item);
    atomic_store(&tail, (atomic_load(&tail) + 1) & MASK);
}

static int take(void)
{
    int h = atomic_load(&head);
    if (h == atomic_load(&tail))
        return 0;
    int item = atomic_load(&slot);
    return atomic_compare_exchange_strong(&head, &h, (h + 1) & MASK) ? item : 0;
}

static void *owner(void *arg)
{
    for (int item = 1; item <= 3; item++) {
        if (atomic_load(&head) == atomic_load(&tail))
            push(item);
        if (item < 3)
            got[n++] = take();
    }
    return arg;
}

static void *thief(void *arg)
{
    stolen = take();
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, owner, NULL);
    pthread_create(&t[1], NULL, thief, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    for (int i = 0; i < n; i++)
        assert(stolen == 0 || stolen != got[i]); /* else taken twice */
    return 0;
}
