/* SPDX-License-Identifier: MIT */
/*
 * What the cases on the core's protocols and on scheduler modules share: rounds, and a platform.
 *
 * A case runs a few threads with a few operations each on fresh state, joins them, and asserts what must hold after
 * every interleaving.  Without TENTER_CASE_ROUNDS it does so once, with nothing else in it that an explorer would have
 * to interleave; with TENTER_CASE_ROUNDS=n it does so n times, and lets the threads of a round start together.
 *
 * A lost wake-up is no matter of patience here: parking counts the threads that can still do something, and when the
 * last of them parks or ends while others sleep for ever, an assertion says so at once.
 *
 * Both fences are seq_cst fences.  gcc's ThreadSanitizer executes them but draws no happens-before from them; nothing
 * in these protocols needs that (a fence decides who goes on, the order of data comes from labelled pairs), so the
 * cases pass under it with -Wno-tsan.
 */
#ifndef PROTOCOL_CASE_H
#define PROTOCOL_CASE_H

#undef NDEBUG

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "platform.h"

#define CASE_FOREVER UINT64_MAX

/* ---- rounds ---- */

static int case_rounds = 1;
static atomic_int case_waiting;
static pthread_mutex_t case_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t case_woken = PTHREAD_COND_INITIALIZER;
static int case_active; /* under case_lock: threads that have not ended and do not sleep */
static struct case_sleeper {
    _Atomic(uint32_t) *word;
    struct case_sleeper *next;
    bool woken;
} * case_sleepers; /* under case_lock */

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

/* Each thread's last call. */
static inline void *case_end(void)
{
    pthread_mutex_lock(&case_lock);
    case_active--;
    assert(case_active > 0 || case_sleepers == NULL); /* else a wake-up was lost */
    pthread_mutex_unlock(&case_lock);
    return NULL;
}

static inline int case_main(void (*prepare)(void), void (*check)(void), void *(*const threads[])(void *), int n)
{
    static unsigned random[8];
    const char *rounds = getenv("TENTER_CASE_ROUNDS");

    if (rounds != NULL && atoi(rounds) > 1)
        case_rounds = atoi(rounds);
    for (int round = 0; round < case_rounds; round++) {
        pthread_t thread[8];

        prepare();
        case_active = n;
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

/* ---- the platform: what the headers under test link against ---- */

static _Atomic(tn_time) case_clock; /* moves when somebody sleeps until a deadline, or when a case says so */

tn_time tn_now(void)
{
    return atomic_load_explicit(&case_clock, memory_order_seq_cst);
}

void tn_fence_light(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

void tn_fence_heavy(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

void tn_spin_wait(unsigned *spins)
{
    /* A counter in a loop would hide from an explorer that the loop only waits. */
    if (case_rounds == 1 || ++*spins % 16 == 0)
        sched_yield();
}

unsigned tn_spin_bound(unsigned n)
{
    (void)n;
    return 1;
}

/* A sleep until a deadline is over at once, and the clock stands at the deadline. */
int tn_park(_Atomic(uint32_t) *word, uint32_t expected, tn_time deadline)
{
    if (deadline != CASE_FOREVER) {
        tn_time now = tn_now();
        while (now < deadline && !atomic_compare_exchange_weak_explicit(&case_clock, &now, deadline,
                                                                        memory_order_seq_cst, memory_order_seq_cst))
            ;
        return ETIMEDOUT;
    }
    pthread_mutex_lock(&case_lock);
    if (atomic_load_explicit(word, memory_order_relaxed) == expected) { /* relaxed: callers look again */
        struct case_sleeper self = {word, case_sleepers, false};
        case_sleepers = &self;
        case_active--;
        assert(case_active > 0); /* else a wake-up was lost */
        while (!self.woken)
            pthread_cond_wait(&case_woken, &case_lock);
    }
    pthread_mutex_unlock(&case_lock);
    return 0;
}

void tn_unpark(_Atomic(uint32_t) *word, unsigned n)
{
    pthread_mutex_lock(&case_lock);
    for (struct case_sleeper **at = &case_sleepers; *at != NULL && n > 0;) {
        struct case_sleeper *s = *at;
        if (s->word != word) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        s->woken = true;
        case_active++; /* from here, so that nobody takes it for asleep before it runs */
        n--;
    }
    pthread_cond_broadcast(&case_woken);
    pthread_mutex_unlock(&case_lock);
}

#endif
