/* SPDX-License-Identifier: MIT */
/*
 * join: a runtime stops while a thread that is no worker joins one of its fibres. The fibre may still have ended, or its
 * worker has stopped before; when no worker is left, whoever still waits is dropped. The thread must come back, with the
 * value or without, and must be counted as blocked no more, once.
 *
 * `join` does what thread_waits() in core/fibre.c does, `stop` what tn_stop in core/runtime.c does.
 */
#include "join-case.h"

#include "queues/spinlock.h"

static _Alignas(16) struct tn_joiner self;
static struct tn_spinlock lock;
static struct tn_joiner *joiners; /* under the lock */
static _Atomic(bool) stopping;
static _Atomic(uint32_t) workers, visitors; /* that are not over */
static bool ended, took;

static void prepare(void)
{
    prepare_join();
    memset(&self, 0, sizeof(self));
    tn_spinlock_init(&lock);
    joiners = NULL;
    atomic_init(&stopping, false);
    atomic_init(&workers, 1);
    atomic_init(&visitors, 1);
    ended = took = false;
}

static void *worker(void *random)
{
    case_start(random);
    if (!atomic_load_explicit(&stopping, memory_order_relaxed)) {
        end_child();
        ended = true;
    }
    atomic_store_explicit(&workers, 0, memory_order_release);
    tn_unpark(&workers, 1);
    return case_end();
}

static bool begins(void)
{
    tn_spinlock_lock(&lock);
    bool may = !atomic_load_explicit(&stopping, memory_order_relaxed);
    if (may)
        joiners = &self;
    tn_spinlock_unlock(&lock);
    return may;
}

static bool waits(void)
{
    uintptr_t found = TN_JOIN_OPEN;
    uint32_t done;
    if (!tn_joinword_register(&child.join, (uintptr_t)&self | TN_JOIN_THREAD, &found)) {
        assert(found == TN_JOIN_DONE);
        tn_joiner_decide(&self, TN_JOINER_TOLD, unblock, block);
        return true;
    }
    while ((done = tn_joiner_look(&self)) == TN_JOINER_WAITS)
        tn_park(&self.done, TN_JOINER_WAITS, CASE_FOREVER);
    if (done == TN_JOINER_TOLD)
        tn_joinword_await(&child.join);
    return done == TN_JOINER_TOLD;
}

static void *join(void *random)
{
    case_start(random);
    block();
    if (begins()) {
        took = waits();
        tn_spinlock_lock(&lock);
        joiners = NULL;
        tn_spinlock_unlock(&lock);
        if (took)
            take_value();
    } else {
        unblock();
    }
    atomic_store_explicit(&visitors, 0, memory_order_release);
    tn_unpark(&visitors, 1);
    return case_end();
}

static void *stop(void *random)
{
    case_start(random);
    atomic_store_explicit(&stopping, true, memory_order_relaxed);
    while (atomic_load_explicit(&workers, memory_order_acquire) != 0)
        tn_park(&workers, 1, CASE_FOREVER);
    tn_spinlock_lock(&lock);
    if (joiners != NULL && tn_joiner_decide(joiners, TN_JOINER_DROPPED, unblock, block))
        tn_unpark(&joiners->done, 1);
    tn_spinlock_unlock(&lock);
    while (atomic_load_explicit(&visitors, memory_order_acquire) != 0)
        tn_park(&visitors, 1, CASE_FOREVER);
    assert(atomic_load_explicit(&blocked, memory_order_relaxed) == 0);
    return case_end();
}

static void check(void)
{
    assert(!took || ended);
    assert(child.released == took);
}

CASE_MAIN(prepare, check, worker, join, stop)
