/* SPDX-License-Identifier: MIT */
/*
 * What the cases on core/queues/ share.
 *
 * A case runs a few threads with a few operations each on fresh state, joins them, and asserts what must hold after
 * every interleaving.  Without TENTER_CASE_ROUNDS it does so once, with nothing else in it that an explorer would have
 * to interleave; with TENTER_CASE_ROUNDS=n it does so n times, and lets the threads of a round start together.
 *
 * A thread notes what it got in an array of its own; counting is left to the main thread, after the join.
 */
#ifndef QUEUE_CASE_H
#define QUEUE_CASE_H

#define TN_QUEUES_STANDALONE
#undef NDEBUG

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

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

static int case_rounds = 1;
static atomic_int case_waiting;

/* Each thread's first call. */
static inline void case_start(unsigned *random)
{
    if (case_rounds == 1)
        return;
    *random = *random * 1664525U + 1013904223U;
    atomic_fetch_sub_explicit(&case_waiting, 1, memory_order_seq_cst);
    while (atomic_load_explicit(&case_waiting, memory_order_seq_cst) > 0)
        sched_yield();
    for (unsigned spin = *random >> 24; spin > 0; spin--) /* so that rounds differ */
        atomic_signal_fence(memory_order_seq_cst);
}

/* Inside a section that should be exclusive: gives the others a chance to be there too. */
static inline void case_pause(void)
{
    for (int turn = 0; case_rounds > 1 && turn < 4; turn++)
        sched_yield();
}

/* CASE_MAIN(prepare, check, thread functions ...) */
static inline int case_main(void (*prepare)(void), void (*check)(void), void *(*const threads[])(void *), int n)
{
    static unsigned random[8];
    const char *rounds = getenv("TENTER_CASE_ROUNDS");

    if (rounds != NULL && atoi(rounds) > 1)
        case_rounds = atoi(rounds);
    for (int round = 0; round < case_rounds; round++) {
        pthread_t thread[8];

        for (int i = 0; i < ITEMS; i++)
            pushed[i] = false;
        prepare();
        if (case_rounds > 1)
            atomic_store_explicit(&case_waiting, n, memory_order_seq_cst);
        for (int i = 0; i < n; i++) {
            random[i] += (unsigned)i * 7919U;
            if (pthread_create(&thread[i], NULL, threads[i], &random[i]) != 0)
                abort();
        }
        for (int i = 0; i < n; i++)
            pthread_join(thread[i], NULL);
        check();
    }
    return 0;
}

#define CASE_MAIN(prepare, check, ...)                                                          \
    int main(void)                                                                              \
    {                                                                                           \
        void *(*const threads[])(void *) = {__VA_ARGS__};                                       \
        return case_main(prepare, check, threads, (int)(sizeof(threads) / sizeof(threads[0]))); \
    }

#endif
