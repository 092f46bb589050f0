/* SPDX-License-Identifier: MIT
 *
 * What tn_select needs of a kind of object, so that there may be more kinds without a change to it: a channel's two ways and
 * a promise are kinds, a descriptor's readiness can be one. An object of any kind begins with a struct tn_waits.
 *
 * Proof. Of several arms exactly one happens. 1. All objects are locked, in the order of their addresses, so that two selects
 * do not wait for each other; while they are, nobody else takes or grants anything of them. An arm that can have what it
 * wants takes it then, and has no node anywhere: so who takes is never claimed meanwhile, and need not claim itself. 2. Else
 * each arm's node enters its ring before the first lock is opened. All are of one wait: of the claims, a deadline and a token
 * one decides (waiters.h), and a node that comes too late is passed over. 3. The arm that happened is the one that is let go,
 * since only who claims lets go. The nodes of the others are taken out, each with its lock held, before tn_select returns;
 * the object of the one that was granted is not touched again (waitlist.h, 3), unless other arms are of it too.
 */
#ifndef TN_SYNC_SELECT_H
#define TN_SYNC_SELECT_H

#include "waitlist.h"

#include "tenter_channel.h"

/* All with the lock of the arm's object held. */
struct tn_arm_kind {
    const char *what; /* in diagnoses, where it waits alone */
    /* Do it now if that can be, with the arm's `rc` for what came of it; whom that lets go on is claimed. */
    bool (*take)(struct tn_arm *arm, struct tn_claims *claims);
    /* It will wait: in which ring. Who grants it tells the node's `told`, and uses its `item`. What has to be told of
     * who waits (a descriptor to its poller) is told here. */
    struct tn_node **(*ring)(struct tn_arm *arm);
};

struct tn_arm_wait {
    struct tn_node node;
    struct tn_arm *above; /* the next by the address of its object */
    uint32_t turn;        /* which arm is looked at when so many have been */
};

_Static_assert(sizeof(struct tn_arm_wait) <= sizeof((struct tn_arm *)0)->room, "an arm has room for its wait");

#endif
