/* SPDX-License-Identifier: MIT */
/*
 * The rounds of a case, the same for all of them.
 *
 * A case runs a few threads with a few operations each on fresh state, joins them, and asserts what must hold after
 * every interleaving.  Without TENTER_CASE_ROUNDS it does so once, with nothing else in it that an explorer would have
 * to interleave; with TENTER_CASE_ROUNDS=n it does so n times, and lets the threads of a round start together.
 */
#ifndef ROUNDS_H
#define ROUNDS_H

#undef NDEBUG

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static int case_rounds = 1;
static atomic_int case_waiting;

/* Before each round, ahead of prepare: what the includer keeps for a round of n threads is made fresh. */
static inline void case_fresh(int n);

/* Each thread's first call. */
static inline void case_start(unsigned *random)
{
    if (case_rounds == 1)
        return;
    *random = *random * 1664525U + 1013904223U;
    atomic_fetch_sub_explicit(&case_waiting, 1, memory_order_seq_cst);
    while (atomic_load_explicit(&case_waiting, memory_order_seq_cst) > 0)
        sched_yield();
    /* So that rounds differ: by up to 16 instructions, or up to 4096, or any scale between. */
    for (unsigned spin = *random >> (20 + (*random >> 12) % 9); spin > 0; spin--)
        atomic_signal_fence(memory_order_seq_cst);
}

static inline int case_main(void (*prepare)(void), void (*check)(void), void *(*const threads[])(void *), int n)
{
    static unsigned random[8];
    const char *rounds = getenv("TENTER_CASE_ROUNDS");

    if (rounds != NULL && atoi(rounds) > 1)
        case_rounds = atoi(rounds);
    for (int round = 0; round < case_rounds; round++) {
        pthread_t thread[8];

        case_fresh(n);
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

/* CASE_MAIN(prepare, check, thread functions ...) */
#define CASE_MAIN(prepare, check, ...)                                                          \
    int main(void)                                                                              \
    {                                                                                           \
        void *(*const threads[])(void *) = {__VA_ARGS__};                                       \
        return case_main(prepare, check, threads, (int)(sizeof(threads) / sizeof(threads[0]))); \
    }

#endif
