/* SPDX-License-Identifier: MIT */
/*
 * What the cases on the core's protocols and on scheduler modules share, rounds.h apart: a platform.
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

#include "rounds.h"

#include <errno.h>
#include <string.h>

#include "platform.h"

#define CASE_FOREVER UINT64_MAX

/* ---- who can still do something ---- */

static pthread_mutex_t case_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t case_woken = PTHREAD_COND_INITIALIZER;
static int case_active; /* under case_lock: threads that have not ended and do not sleep */
static struct case_sleeper {
    _Atomic(uint32_t) *word;
    struct case_sleeper *next;
    bool woken;
} * case_sleepers; /* under case_lock */

static inline void case_fresh(int n)
{
    case_active = n;
}

/* Where natively a thread would hardly ever be interrupted, and where that matters. */
static inline void case_pause(void)
{
    if (case_rounds > 1)
        sched_yield();
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
