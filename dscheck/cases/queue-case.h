/* SPDX-License-Identifier: MIT */
/*
 * What the cases on core/queues/ share, rounds.h apart.
 *
 * A thread notes what it got in an array of its own; counting is left to the main thread, after the join.
 */
#ifndef QUEUE_CASE_H
#define QUEUE_CASE_H

#undef NDEBUG

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/queues/link.h"

enum { ITEMS = 8, GOT = 8 };

/* What is queued, told apart by their addresses.  node[ITEMS - 1] serves preparations that must leave no trace. */
static struct tn_link node[ITEMS];
static bool pushed[ITEMS]; /* each written by the one thread that pushes it */

/* What one thread got. */
struct got {
    void *item[GOT];
    size_t n;
};

static inline void note(struct got *got, void *item)
{
    if (item != NULL)
        got->item[got->n++] = item;
}

/* After the join: every item that was pushed is in exactly one of the n records, once; nothing else is. */
static inline void check_once(const struct got got[], size_t n)
{
    int times[ITEMS] = {0};

    for (size_t g = 0; g < n; g++)
        for (size_t i = 0; i < got[g].n; i++) {
            struct tn_link *item = got[g].item[i];
            assert(item >= node && item < node + ITEMS);
            times[item - node]++;
        }
    for (size_t i = 0; i < ITEMS; i++) {
        assert(times[i] >= pushed[i]); /* else lost */
        assert(times[i] <= pushed[i]); /* else taken twice */
    }
}

/* Behind node and pushed: with the word that threads wait on laid out before them, two twins were caught natively only
 * after several times as many rounds. */
#include "rounds.h"

static inline void case_fresh(int n)
{
    (void)n;
    for (int i = 0; i < ITEMS; i++)
        pushed[i] = false;
}

/* What the queues wait by.  A counter in the loop would hide from an explorer that it only waits. */
void tn_spin_wait(unsigned *spins)
{
    if (case_rounds == 1 || ++*spins > 32)
        sched_yield();
}

/* Inside a section that should be exclusive: gives the others a chance to be there too. */
static inline void case_pause(void)
{
    for (int turn = 0; case_rounds > 1 && turn < 4; turn++)
        sched_yield();
}

#endif
