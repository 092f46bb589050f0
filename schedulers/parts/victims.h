/* SPDX-License-Identifier: MIT
 *
 * Orders in which a thief tries its victims.
 */
#ifndef TN_PARTS_VICTIMS_H
#define TN_PARTS_VICTIMS_H

#include "scheduler.h"

/* The attempt-th of all others, from a start that the thief draws anew each round. */
static inline struct tn_worker *tn_victim_random(struct tn_worker *me, uint32_t used, unsigned attempt,
                                                 uint32_t *start)
{
    if (attempt + 1 >= used)
        return NULL;
    if (attempt == 0)
        *start = (uint32_t)tn_random(me);
    uint32_t i = (*start + attempt) % (used - 1);
    return me->cluster->workers[i >= me->index ? i + 1 : i];
}

/* The `nearest` neighbours in the array of workers, right and left in turn (003 §7.1.1), then one of the rest at
 * random: with neighbours only, work far away might never be found. */
static inline struct tn_worker *tn_victim_nearest(struct tn_worker *me, uint32_t used, unsigned attempt,
                                                  unsigned nearest)
{
    uint32_t others = used - 1, near = nearest < others ? nearest : others;
    if (attempt < near) {
        uint32_t distance = attempt / 2 + 1;
        uint32_t i = attempt % 2 == 0 ? me->index + distance : me->index + used - distance;
        return me->cluster->workers[i % used];
    }
    if (attempt > near || near == others)
        return NULL;
    uint32_t right = (near + 1) / 2, beyond = (uint32_t)(tn_random(me) % (others - near));
    return me->cluster->workers[(me->index + right + 1 + beyond) % used];
}

struct tn_victim_walk {
    struct tn_worker *at; /* the busy one that the round has come to */
    unsigned n;           /* attempts that went to busy ones */
    uint32_t start;       /* of the rest of the round */
};

/* Those that are busy, from the one that has been so longest (000 §3.2.2-3), then all others: one that sleeps or has left
 * may have something placed with it. */
static inline struct tn_worker *tn_victim_busy(struct tn_worker *me, uint32_t used, unsigned attempt,
                                               struct tn_victim_walk *walk)
{
    if (attempt == 0)
        *walk = (struct tn_victim_walk){0};
    if (attempt == walk->n && attempt < used) { /* the list changes all the time: not for ever */
        struct tn_worker *w = tn_busy_after(me->cluster, walk->at);
        if (w == me)
            w = tn_busy_after(me->cluster, me);
        walk->at = w;
        walk->n += w != NULL;
        if (w != NULL)
            return w;
    }
    return tn_victim_random(me, used, attempt - walk->n, &walk->start);
}

/* Those that are busy, and nobody else (000 §3.2.3): who sleeps has nothing, for it has looked. Only who has left may have,
 * and then one of all is tried as well, at random. */
static inline struct tn_worker *tn_victim_listed(struct tn_worker *me, uint32_t used, unsigned attempt,
                                                 struct tn_victim_walk *walk)
{
    struct tn_worker *w = attempt <= walk->n || attempt == 0 ? tn_victim_busy(me, used, attempt, walk) : NULL;
    if (attempt < walk->n)
        return w;
    /* relaxed: a hint */
    uint32_t here = atomic_load_explicit(&me->cluster->busy, memory_order_relaxed) + tn_idle_count(me->cluster);
    return here < used ? w : NULL;
}

/* The one of all others with the longest queue, then all of them from anywhere: it may be too late for the longest. */
static inline struct tn_worker *tn_victim_busiest(struct tn_worker *me, uint32_t used, unsigned attempt,
                                                  uint32_t *start, size_t (*length)(struct tn_worker *))
{
    struct tn_worker *best = NULL;
    size_t most = 0;
    for (uint32_t i = 0; i < used && attempt == 0; i++) {
        size_t n = i != me->index ? length(me->cluster->workers[i]) : 0;
        if (n > most) {
            most = n;
            best = me->cluster->workers[i];
        }
    }
    if (attempt == 0 && best != NULL)
        return best;
    return tn_victim_random(me, used, attempt != 0 ? attempt - 1 : 0, start);
}

#endif
