/* SPDX-License-Identifier: MIT */
/*
 * What the cases on the join word share: a child with a control block that is poisoned when it is released, its end as
 * retire() and tell_joiner() in core/fibre.c do it, and a fibre that joins (a thread here: when its wait word is parked
 * it sleeps on a word of its own until it is made ready).
 */
#ifndef JOIN_CASE_H
#define JOIN_CASE_H

#include "protocol-case.h"

#include "joiner.h"
#include "joinword.h"
#include "waitword.h"

enum { VALUE = 42, POISON = 0x5a5a0 };

/* Plain but for the word, so that a tool that watches single accesses sees whether J0 and J1 order them. */
static struct {
    tn_joinword join;
    int value;
    int released;
} child;

static _Alignas(16) struct joiner {
    tn_waitword wait;
    _Atomic(uint32_t) ready;
    int context; /* what its switch saved */
    int resumed;
} joiner;

/* Threads that are counted as blocked, as diagnoses count them. */
static _Atomic(int) blocked;

static void block(void)
{
    atomic_fetch_add_explicit(&blocked, 1, memory_order_relaxed);
}

static void unblock(void)
{
    atomic_fetch_sub_explicit(&blocked, 1, memory_order_relaxed);
}

static inline void prepare_join(void)
{
    memset(&child, 0, sizeof(child));
    memset(&joiner, 0, sizeof(joiner));
    atomic_init(&child.join, TN_JOIN_OPEN);
    atomic_init(&blocked, 0);
}

/* By whoever may. */
static inline void release(void)
{
    assert(child.released == 0); /* else released twice */
    child.released++;
    child.value = POISON;
    atomic_store_explicit(&child.join, POISON, memory_order_relaxed);
}

/* After the join of all threads. */
static inline void check_released(void)
{
    assert(child.released == 1); /* else nobody released it */
    assert(child.value == POISON && atomic_load_explicit(&child.join, memory_order_relaxed) == POISON);
}

static inline void make_ready(struct joiner *j)
{
    assert(j->context == 1);
    assert(++j->resumed == 1);
    atomic_store_explicit(&j->ready, 1, memory_order_release);
    tn_unpark(&j->ready, 1);
}

static inline void switch_away(struct joiner *j)
{
    while (atomic_load_explicit(&j->ready, memory_order_acquire) == 0)
        tn_park(&j->ready, 0, CASE_FOREVER);
}

static inline void tell_joiner(uintptr_t found)
{
    if ((found & TN_JOIN_TAGS) == TN_JOIN_THREAD) {
        struct tn_joiner *t = tn_joinword_joiner(found);
        if (tn_joiner_decide(t, TN_JOINER_TOLD, unblock, block))
            tn_unpark(&t->done, 1);
    } else {
        struct joiner *j = tn_joinword_joiner(found);
        uint64_t seq = atomic_load_explicit(&j->wait, memory_order_relaxed) / WAIT_STATES;
        if (tn_waitword_decide(&j->wait, seq, WAIT_WOKEN) == TN_DECIDED_PARKED)
            make_ready(j);
    }
    tn_joinword_close(&child.join);
}

static inline void end_child(void)
{
    child.value = VALUE;
    uintptr_t found = tn_joinword_end(&child.join);
    assert(found != TN_JOIN_DONE && found != TN_JOIN_CLOSING && found != POISON);
    if (found == TN_JOIN_DETACHED)
        release();
    else if (tn_joinword_is_fibre(found))
        make_ready((struct joiner *)found);
    else if (tn_joinword_is_joiner(found))
        tell_joiner(found);
}

static inline void take_value(void)
{
    assert(child.value == VALUE);
    release();
}

#endif
