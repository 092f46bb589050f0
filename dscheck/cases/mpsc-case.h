/* SPDX-License-Identifier: MIT */
/*
 * The bodies of the cases on queues of many producers and one consumer.  A case on an intrusive one defines MPSC(x) as the
 * queue's name with x behind it, includes the queue and this; another one brings the four functions below itself.  Then it
 * says which body it wants:
 *
 *     CASE_MAIN(mpsc_prepare, mpsc_check, mpsc_one, mpsc_two, mpsc_consumer)    two producers, one item and two
 *     CASE_MAIN(mpsc_last, mpsc_check, mpsc_one, mpsc_consumer)                 an item is there, another comes: the last
 */
#ifndef MPSC_CASE_H
#define MPSC_CASE_H

#include "queue-case.h"

#ifdef MPSC
static struct MPSC() queue;

static void mpsc_init(void)
{
    MPSC(_init)(&queue);
}
/* Item n, by any thread. */
static void mpsc_push(int n)
{
    MPSC(_push)(&queue, &node[n]);
}
/* By the consumer. */
static void *mpsc_pop(void)
{
    return MPSC(_pop)(&queue);
}
/* By anybody: false, if an item was pushed before and is not gone. */
static bool mpsc_empty(void)
{
    return MPSC(_empty)(&queue);
}
#endif

static struct got got[2]; /* the consumer's, what is left over */
static bool unseen;       /* a producer looked, and its item was not there */

static inline void mpsc_prepare(void)
{
    mpsc_init();
    got[0].n = got[1].n = 0;
    unseen = false;
}

static inline void mpsc_last(void)
{
    mpsc_prepare();
    for (int i = 1; i < 3; i++) {
        mpsc_push(i);
        pushed[i] = true;
    }
    note(&got[0], mpsc_pop()); /* so that the stub, or what there is in its place, lies behind */
}

static inline void *mpsc_one(void *random)
{
    case_start(random);
    mpsc_push(0);
    pushed[0] = true;
    unseen = mpsc_empty();
    return NULL;
}

static inline void *mpsc_two(void *random)
{
    case_start(random);
    mpsc_push(1);
    mpsc_push(2);
    pushed[1] = pushed[2] = true;
    return NULL;
}

static inline void *mpsc_consumer(void *random)
{
    case_start(random);
    note(&got[0], mpsc_pop());
    note(&got[0], mpsc_pop());
    return NULL;
}

static inline void mpsc_check(void)
{
    void *item;
    bool taken = false;

    for (size_t i = 0; i < got[0].n; i++)
        taken |= got[0].item[i] == &node[0];
    assert(taken || !unseen);
    for (int i = 0; i < 3 && (item = mpsc_pop()) != NULL; i++) {
        assert(got[1].n + got[0].n < 3);
        note(&got[1], item);
    }
    check_once(got, 2);
    int last = 0; /* items 1 and 2 come in their producer's order */
    for (int g = 0; g < 2; g++)
        for (size_t i = 0; i < got[g].n; i++)
            if (got[g].item[i] != &node[0])
                assert((struct tn_link *)got[g].item[i] == &node[++last]);
    assert(mpsc_empty() && mpsc_pop() == NULL);
    mpsc_push(0);
    assert(!mpsc_empty() && mpsc_pop() == &node[0] && mpsc_empty() && mpsc_pop() == NULL);
}

#endif
