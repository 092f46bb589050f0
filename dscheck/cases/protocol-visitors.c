/* SPDX-License-Identifier: MIT */
/*
 * visitors: two threads from outside each make a fibre ready, and look for a worker to wake; a third one joins both fibres,
 * which may run at once, then stops the runtime and frees the cluster that the two may still be looking at.
 */
#include "protocol-case.h"

#include "visitors.h"

enum { READY = 1, FIBRES = 2 };

static struct tn_visitors visitors;
static _Atomic(uint32_t) fibre[FIBRES];
static struct cluster {
    int idle;
} * cluster;

static void prepare(void)
{
    cluster = malloc(sizeof *cluster);
    assert(cluster != NULL);
    cluster->idle = 0;
    for (int i = 0; i < FIBRES; i++)
        atomic_store_explicit(&fibre[i], 0,
                              memory_order_relaxed); /* relaxed: the start of the threads publishes it */
}

/* As tn_spawn() does. */
static void spawn(int i)
{
    struct cluster *cl = cluster;
    tn_visitors_enter(&visitors);
    atomic_store_explicit(&fibre[i], READY, memory_order_release); /* VC0 release: as a module's ready() */
    tn_unpark(&fibre[i], 1);
    case_pause();
    assert(cl->idle == 0);
    tn_visitors_leave(&visitors);
}

static void *first(void *random)
{
    case_start(random);
    spawn(0);
    return case_end();
}

static void *second(void *random)
{
    case_start(random);
    spawn(1);
    return case_end();
}

/* Workers, fibres and the thread that joins them are one: they tell each other all that they know. */
static void *stopper(void *random)
{
    case_start(random);
    for (int i = 0; i < FIBRES; i++)
        while (atomic_load_explicit(&fibre[i], memory_order_acquire) != READY) /* VC0 acquire */
            tn_park(&fibre[i], 0, CASE_FOREVER);
    tn_visitors_await(&visitors);
    cluster->idle = -1;
    free(cluster);
    return case_end();
}

static void check(void)
{
    assert(atomic_load_explicit(&visitors.now, memory_order_relaxed) == 0); /* relaxed: all have ended */
}

CASE_MAIN(prepare, check, first, second, stopper)
