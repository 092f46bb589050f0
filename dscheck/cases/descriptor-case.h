/* SPDX-License-Identifier: MIT */
/*
 * What the cases on io/descriptor.h share: a direction of a descriptor, with what is there to be read, and the loop of
 * io/io.c around a call.
 */
#ifndef DESCRIPTOR_CASE_H
#define DESCRIPTOR_CASE_H

#include "list-case.h"

#include "io/descriptor.h"

static struct tn_way way;
static _Atomic(int) bytes; /* the kernel's; relaxed: what a reader and a poller tell each other goes by the lock */

static inline void open_way(void)
{
    memset(&way, 0, sizeof way);
    atomic_init(&bytes, 0);
}

static inline void nobody_waits(void)
{
    assert(way.waits.ring == NULL && way.waits.lock == 0);
    assert(way.turns == NULL && !way.taken && !atomic_load_explicit(&way.calls, memory_order_relaxed));
}

/* The poller tells an event. */
static inline void tells(uint32_t generation)
{
    struct tn_claims claims = {NULL, NULL};
    tn_way_event(&way, generation, false, &claims);
    tn_claims_let_go(claims);
}

/* Something comes, and is told. */
static inline void comes(uint32_t generation)
{
    atomic_fetch_add_explicit(&bytes, 1, memory_order_relaxed);
    tells(generation);
}

/* Called and passed in one step. */
static inline void is_done(uint32_t generation)
{
    struct tn_claims claims = {NULL, NULL};
    tn_way_done(&way, generation, &claims);
    tn_claims_let_go(claims);
}

static inline void passes(uint32_t generation)
{
    struct tn_claims claims = {NULL, NULL};
    tn_way_pass(&way, generation, &claims);
    tn_claims_let_go(claims);
}

/* Who closes. */
static inline void ends(void)
{
    struct tn_claims claims = {NULL, NULL};
    tn_way_end(&way, &claims);
    tn_claims_let_go(claims);
}

/* How many bytes; or, negative, an errno value. */
static inline int reads(uint32_t generation, tn_time deadline)
{
    for (;;) {
        if (!tn_way_begin(&way, generation))
            return -ECANCELED;
        int n = atomic_exchange_explicit(&bytes, 0, memory_order_relaxed);
        tn_way_called(&way);
        if (n > 0)
            return n;
        int rc = tn_way_wait(&way, generation, true, deadline, NULL);
        if (rc != 0)
            return -rc;
    }
}

#endif
