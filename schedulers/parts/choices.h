/* SPDX-License-Identifier: MIT
 *
 * What one may choose of fifo and lifo: their knobs and counters, and what the values are called. The module that
 * includes this defines TN_KNOB_OWNER.
 */
#ifndef TN_PARTS_CHOICES_H
#define TN_PARTS_CHOICES_H

#include "scheduler.h"

/* What differs from module to module: `capacity` is among it. */
#ifndef LOCAL_OWN_KNOBS
#define LOCAL_LAYOUT(cl) KNOB(cl, layout)
#define LOCAL_OWN_KNOBS(K)                                                                                \
    K(layout, "local|global", 0, 0, 1, "", "a queue for each worker, or one for the cluster", "003 §4.3") \
    K(capacity, NULL, 128, 1, 1 << 20, "fibres",                                                          \
      "size of a bounded queue (local: of each worker's open part), rounded up to a power of two", "003 §7.1.1")
#define LOCAL_LAYOUT_PLAIN FIXED_TO(layout, LAYOUT_LOCAL)
#define LOCAL_OWN_COUNTERS
#define LOCAL_OWN_NEEDS(cl)
#else
#define LOCAL_LAYOUT(cl)   LAYOUT_LOCAL /* such a module has no other */
#define LOCAL_LAYOUT_PLAIN true
#endif
#ifndef LOCAL_CAPACITY_MAX
#define LOCAL_CAPACITY_MAX (1 << 20)
#endif

#define LOCAL_KNOBS(K)                                                                                               \
    LOCAL_OWN_KNOBS(K)                                                                                               \
    K(private, NULL, 128, 0, 4096, "fibres",                                                                         \
      "local: the part of a queue that its worker uses without atomics, rounded up to a power of two", "")           \
    K(full, "overflow|refuse|global|grow|chain", 0, 0, 4, "",                                                        \
      "into a full queue: into a list; a spawn sees EAGAIN; into the global queue; the queue grows; a further one "  \
      "is chained to it",                                                                                            \
      "003 §4.4.2")                                                                                                  \
    K(steal, "half|one", 0, 0, 1, "", "how much a thief takes", "003 §4.4.1")                                        \
    K(least, NULL, 1, 1, 64, "fibres", "a thief leaves alone who has fewer than that, but for one try in 16",        \
      "003 §7.1.1")                                                                                                  \
    K(spawn, "parent|child", 0, 0, 1, "", "which of the two goes on first after a spawn", "")                        \
    K(victims, "random|nearest|busy|listed|busiest|topology", 0, 0, 5, "",                                           \
      "whom a thief tries; busy: the longest busy first; listed: nobody but the busy; busiest: the longest queue "   \
      "first; topology: by distance, where `pin` puts the workers",                                                  \
      "000 §3.2.2")                                                                                                  \
    K(nearest, NULL, 15, 1, 4096, "workers", "victims=nearest: how many neighbours", "003 §7.1.1")                   \
    K(place, "waker|home|owner", 0, 0, 2, "",                                                                        \
      "where a woken fibre goes: to its waker; to the worker it ran on; to the one it was spawned on", "000 §3.2.2") \
    K(sticky, NULL, 0, 0, 1 << 20, "fibres",                                                                         \
      "place=owner: a thief becomes the owner of what it steals from one that has at least that many; 0: never",     \
      "000 §3.2.2")                                                                                                  \
    K(chance, NULL, 0, 0, 1000, "1/1000", "how often a spawn goes into the global queue", "003 §7.1.1")              \
    K(pool, "ring|locked|five", 0, 0, 2, "",                                                                         \
      "what the global queue is: a lock-free ring of `capacity`, a locked list, or five rings", "003 §7.1.1")        \
    K(slot, NULL, 0, 0, 1024, "fibres",                                                                              \
      "the newest fibre runs next, that often in a row at the most, then the oldest; 0: in the module's order", "")  \
    K(request, "none|once|sticky|ticket", 0, 0, 3, "",                                                               \
      "what a busy worker does: nothing; have a random one steal from it, once or until another asks; publish a "    \
      "ticket",                                                                                                      \
      "003 §7.1.1")

#define EITHER_NAME_(id) #id
#define EITHER_NAME(id)  EITHER_NAME_(id)

enum { LOCAL_KNOBS(TN_KNOB_ENUM) };
static const struct tn_knob local_knobs[] = {LOCAL_KNOBS(TN_KNOB_ROW)};
#define KNOB(cl, k) TN_KNOB((cl)->knobs, TN_KNOB_OWNER, k)

enum { LAYOUT_LOCAL, LAYOUT_GLOBAL };
enum { FULL_OVERFLOW, FULL_REFUSE, FULL_GLOBAL, FULL_GROW, FULL_CHAIN };
enum { STEAL_HALF, STEAL_ONE };
enum { SPAWN_PARENT, SPAWN_CHILD };
enum { VICTIMS_RANDOM, VICTIMS_NEAREST, VICTIMS_BUSY, VICTIMS_LISTED, VICTIMS_BUSIEST, VICTIMS_TOPOLOGY };
enum { PLACE_WAKER, PLACE_HOME, PLACE_OWNER };
enum { POOL_RING, POOL_LOCKED, POOL_FIVE };
enum { REQUEST_NONE, REQUEST_ONCE, REQUEST_STICKY, REQUEST_TICKET };

/* Which of its paths a worker takes, settled when it is made: one test at each scheduling point for all choices that
 * concern ready() and next(), and none where the build fixes them all to what is plain. */
enum { WAY_PLAIN, WAY_GLOBAL, WAY_MORE };
#define FIXED_TO(k, v) (TN_KNOB_FIX_(TN_KNOB_OWNER, k, TN_NOT_FIXED) == (v))
#define ALL_PLAIN                                                                            \
    (LOCAL_LAYOUT_PLAIN && FIXED_TO(full, FULL_OVERFLOW) && FIXED_TO(spawn, SPAWN_PARENT) && \
     FIXED_TO(place, PLACE_WAKER) && FIXED_TO(chance, 0) && FIXED_TO(slot, 0) && FIXED_TO(request, REQUEST_NONE))

static inline int local_way_of(struct tn_cluster *cl)
{
    (void)cl; /* where the build fixes all */
    if (LOCAL_LAYOUT(cl) == LAYOUT_GLOBAL)
        return WAY_GLOBAL;
    return KNOB(cl, full) != FULL_OVERFLOW || KNOB(cl, spawn) != SPAWN_PARENT || KNOB(cl, place) != PLACE_WAKER ||
                   KNOB(cl, chance) != 0 || KNOB(cl, slot) != 0 || KNOB(cl, request) != REQUEST_NONE
               ? WAY_MORE
               : WAY_PLAIN;
}

/* What one chose must show: a value that another knob leaves without use is refused, or a result would carry the name of
 * what has not happened. The default is taken, since nobody can tell whether it was given. Is all of use? */
#define NEEDS(cl, k, use, what)                                                                \
    {                                                                                          \
        local_knobs[TN_KNOB_NAME_(TN_KNOB_OWNER, k)].initial == KNOB(cl, k) || (use), #k, what \
    }

static inline bool local_choices_fit(struct tn_cluster *cl)
{
    const bool local = LOCAL_LAYOUT(cl) == LAYOUT_LOCAL;
    const bool pool = local ? KNOB(cl, full) == FULL_GLOBAL || KNOB(cl, chance) != 0 : !LOCAL_LIFO;
    const struct {
        bool fits;
        const char *knob, *what;
    } needs[] = {
        NEEDS(cl, private, local, "layout=local"),
        NEEDS(cl, full, local || KNOB(cl, full) == FULL_REFUSE, "layout=local, but for full=refuse"),
        NEEDS(cl, steal, local, "layout=local"),
        NEEDS(cl, least, local, "layout=local"),
        NEEDS(cl, victims, local, "layout=local"),
        NEEDS(cl, nearest, local && KNOB(cl, victims) == VICTIMS_NEAREST, "victims=nearest"),
        NEEDS(cl, place, local, "layout=local"),
        NEEDS(cl, sticky, local && KNOB(cl, place) == PLACE_OWNER, "place=owner"),
        NEEDS(cl, chance, local, "layout=local"),
        NEEDS(cl, pool, pool,
              LOCAL_LIFO ? "full=global or chance=1 or more, and layout=local"
                         : "full=global, chance=1 or more, or layout=global"),
        NEEDS(cl, slot, local, "layout=local"),
        NEEDS(cl, slot, LOCAL_LIFO || KNOB(cl, private) != 0, "private=1 or more, where the newest fibre is kept"),
        NEEDS(cl, request, local, "layout=local"),
        LOCAL_OWN_NEEDS(cl)};
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (!needs[i].fits) {
            tn_message("tenter: scheduler " EITHER_NAME(TN_KNOB_OWNER) ": %s has no effect here, it needs %s",
                       needs[i].knob, needs[i].what);
            return false;
        }
    return true;
}

enum {
    LOCAL_SPILL,
    LOCAL_OVERFLOW,
    LOCAL_ASKED,
    LOCAL_REVOKED,
    LOCAL_SHARED,
    LOCAL_POOLED,
    LOCAL_GROWN,
    LOCAL_CHAINED,
    LOCAL_LEFT,
    LOCAL_SLOT,
    LOCAL_BOUND,
    LOCAL_REQUEST,
    LOCAL_FORCED,
    LOCAL_TICKET,
    LOCAL_NEAR,
    LOCAL_COUNTERS
};
static const struct tn_counter_row local_counters[] = {
    [LOCAL_SPILL] = {"spill", "times that the private part was full and its older half was opened"},
    [LOCAL_OVERFLOW] = {"overflow", "fibres that found the bounded queue full and went to a list"},
    [LOCAL_ASKED] = {"asked", "times that an owner opened its private part because a thief asked"},
    [LOCAL_REVOKED] = {"revoked", "times that a thief took private work behind a hog under the heavy fence"},
    [LOCAL_SHARED] = {"shared", "fibres taken from the cluster's shared or yield queue"},
    [LOCAL_POOLED] = {"pooled", "fibres that went into the global queue beside the local ones"},
    [LOCAL_GROWN] = {"grown", "times that a full queue was replaced by one of twice the size"},
    [LOCAL_CHAINED] = {"chained", "queues that were chained to a full one"},
    [LOCAL_LEFT] = {"left", "victims that were left alone since they had too few"},
    [LOCAL_SLOT] = {"slot", "fibres that ran before older ones because they were the newest"},
    [LOCAL_BOUND] = {"bound", "times that the oldest came first after so many newest in a row"},
    [LOCAL_REQUEST] = {"request", "times that a busy worker had another one steal from it"},
    [LOCAL_FORCED] = {"forced", "steals that another worker asked for"},
    [LOCAL_TICKET] = {"ticket", "tickets that a busy worker has published"},
    [LOCAL_NEAR] = {"near", "victims=topology: times that something was taken from one of the nearest"},
    LOCAL_OWN_COUNTERS /* nothing, or rows that end in a comma */
};

#endif
