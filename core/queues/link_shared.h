/* SPDX-License-Identifier: MIT */
/*
 * A link that one thread follows while another one sets it: for lists of many producers (mpsc_stub.h, nemesis.h, two_lock.h).
 * Each of them says what its pairs are: A0 here is R0's there.
 */
#ifndef TN_QUEUES_LINK_SHARED_H
#define TN_QUEUES_LINK_SHARED_H

#include <stdatomic.h>

#include "link.h"
#include "spin.h"

/* A link's field, as those see it who write and read it at once. */
static inline _Atomic(struct tn_link *) *tn_link_next_(struct tn_link *link)
{
    return (_Atomic(struct tn_link *) *)&link->next;
}

/* What somebody is about to store there. */
static inline struct tn_link *tn_link_await_(_Atomic(struct tn_link *) *at)
{
    struct tn_link *link;
    unsigned spins = 0;

    while ((link = atomic_load_explicit(at, memory_order_acquire)) == NULL) /* A0 */
        tn_spin_wait(&spins);
    return link;
}

#endif
