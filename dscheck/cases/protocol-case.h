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

/* In the lower half the threads that have not ended and do not sleep, in the upper half those that sleep. An explorer
 * sees for itself that none is left, and has one place less at which all threads meet. */
enum { CASE_ACTIVE = 1, CASE_ASLEEP = 0x10000 };
static _Atomic(uint32_t) case_alive;

static inline void case_fresh(int n)
{
    atomic_store_explicit(&case_alive, (uint32_t)n, memory_order_seq_cst);
}

static inline void case_count(int change)
{
    if (case_rounds == 1)
        return;
    uint32_t now = atomic_fetch_add_explicit(&case_alive, (uint32_t)change, memory_order_seq_cst) + (uint32_t)change;
    assert(now % CASE_ASLEEP != 0 || now == 0); /* else a wake-up was lost */
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
    case_count(-CASE_ACTIVE);
    return NULL;
}

/* ---- the platform: what the headers under test link against ---- */

static _Atomic(tn_time) case_clock; /* moves when somebody sleeps until a deadline, or when a case says so */

tn_time tn_now(void)
{
    return atomic_load_explicit(&case_clock, memory_order_seq_cst);
}

#ifndef CASE_FENCES /* else the case has its own */
void tn_fence_light(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

void tn_fence_heavy(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}
#endif

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

/* Who sleeps where: a lock for (nearly) each word, as who wakes one thread has nothing to do with another. */
enum { CASE_BEDS = 64 };
static struct case_bed {
    pthread_mutex_t lock;
    pthread_cond_t woken;
    struct case_sleeper {
        _Atomic(uint32_t) *word;
        struct case_sleeper *next;
        bool woken;
    } * sleepers; /* under the lock */
} case_bed[CASE_BEDS];

static inline struct case_bed *case_bed_of(_Atomic(uint32_t) *word)
{
    uintptr_t line = (uintptr_t)word / 8;
    return &case_bed[(line ^ line / CASE_BEDS) % CASE_BEDS];
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
    struct case_bed *b = case_bed_of(word);
    pthread_mutex_lock(&b->lock);
    if (atomic_load_explicit(word, memory_order_relaxed) == expected) { /* relaxed: callers look again */
        struct case_sleeper self = {word, b->sleepers, false};
        b->sleepers = &self;
        case_count(CASE_ASLEEP - CASE_ACTIVE);
        while (!self.woken)
            pthread_cond_wait(&b->woken, &b->lock);
    }
    pthread_mutex_unlock(&b->lock);
    return 0;
}

void tn_unpark(_Atomic(uint32_t) *word, unsigned n)
{
    struct case_bed *b = case_bed_of(word);
    pthread_mutex_lock(&b->lock);
    for (struct case_sleeper **at = &b->sleepers; *at != NULL && n > 0;) {
        struct case_sleeper *s = *at;
        if (s->word != word) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        s->woken = true;
        case_count(CASE_ACTIVE - CASE_ASLEEP); /* from here, so that nobody takes it for asleep before it runs */
        n--;
    }
    pthread_cond_broadcast(&b->woken);
    pthread_mutex_unlock(&b->lock);
}

#endif
