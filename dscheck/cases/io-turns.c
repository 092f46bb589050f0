/* SPDX-License-Identifier: MIT */
/*
 * The fibre that polls and the master that waits for all clusters take turns: each of two events is found, by one fibre at a
 * time. What the kernel does is part of the case: it tells the master once, and again when it has been asked to.
 */
#include "protocol-case.h"

#include "queues/spinlock.h"
#include "io/pollers/turns.h"

enum { EVENTS = 2 };

static struct tn_spinlock kernel;
static int there;   /* under the lock: events that nobody has found */
static bool asked;  /* under the lock: the master is told of the next */
static bool active; /* under the lock: the fibre that it has spawned */
static int found;   /* the fibre's */
static _Atomic(uint32_t) spawned;

static void prepare(void)
{
    tn_spinlock_init(&kernel);
    there = found = 0;
    asked = true;
    active = false;
    atomic_init(&spawned, 0);
}

/* Under the lock: the kernel, and the master. */
static void looks(void)
{
    if (asked && there != 0) {
        asked = false;
        assert(!active);
        active = true;
        atomic_store_explicit(&spawned, 1, memory_order_relaxed); /* relaxed: the rest is under the lock */
        tn_unpark(&spawned, 1);
    }
}

static void *happens(void *random)
{
    case_start(random);
    for (int i = 0; i < EVENTS; i++) {
        tn_spinlock_lock(&kernel);
        there++;
        looks();
        tn_spinlock_unlock(&kernel);
    }
    return case_end();
}

/* It can hold one. */
static bool polls(void *state)
{
    (void)state;
    tn_spinlock_lock(&kernel);
    bool some = there != 0;
    assert(active);
    there -= some;
    tn_spinlock_unlock(&kernel);
    found += some;
    return some;
}

static void passes(void)
{
}

static void asks(void *state)
{
    (void)state;
    tn_spinlock_lock(&kernel);
    active = false;
    asked = true;
    looks();
    tn_spinlock_unlock(&kernel);
}

static void *fibre(void *random)
{
    case_start(random);
    while (found < EVENTS) {
        while (atomic_exchange_explicit(&spawned, 0, memory_order_relaxed) == 0) /* relaxed: so too */
            tn_park(&spawned, 0, CASE_FOREVER);
        tn_turns(NULL, polls, passes, asks);
    }
    return case_end();
}

static void check(void)
{
    assert(there == 0 && asked && !active);
}

CASE_MAIN(prepare, check, happens, fibre)
