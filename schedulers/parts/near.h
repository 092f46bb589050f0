/* SPDX-License-Identifier: MIT
 *
 * Victims by their distance from the thief (victims=topology): those of the same core first, then of the same cache, of the
 * same socket, and so on; within the same distance from anywhere, lest all thieves of one part of the machine go for the
 * same victim of another. Each worker is taken to be where `pin` puts it: without that it is as good as `random`.
 */
#ifndef TN_PARTS_NEAR_H
#define TN_PARTS_NEAR_H

#include "scheduler.h"

/* A place in the order, which lists all others; those at the same distance are at [begin, end). */
struct tn_near {
    uint16_t index, begin, end;
};

struct tn_near_walk {
    struct tn_near *order; /* slots - 1 places; constant */
    uint32_t at, start;    /* of this round: how far it has come, and where it begins within each distance */
    bool nearest;          /* the last victim was one of the nearest */
};

static inline void tn_near_fini(struct tn_worker *me, struct tn_near_walk *walk)
{
    tn_sched_free(walk->order, me->cluster->slots * sizeof *walk->order);
}

/* Errors: ENOMEM, ENOTSUP (nobody knows the distances). */
static inline int tn_near_init(struct tn_worker *me, struct tn_near_walk *walk)
{
    uint32_t slots = me->cluster->slots, n = 0;
    uint8_t *distance = tn_sched_alloc(slots);
    struct tn_near *order = tn_sched_alloc(slots * sizeof *order);
    int rc = distance != NULL && order != NULL ? tn_distances(me, distance) : ENOMEM;
    for (unsigned d = 0; d <= UINT8_MAX && rc == 0 && n + 1 < slots; d++) {
        uint32_t begin = n;
        for (uint32_t i = 1; i < slots; i++)
            if (distance[(me->index + i) % slots] == d)
                order[n++] = (struct tn_near){(uint16_t)((me->index + i) % slots), (uint16_t)begin, 0};
        for (uint32_t i = begin; i < n; i++)
            order[i].end = (uint16_t)n;
    }
    tn_sched_free(distance, slots);
    *walk = (struct tn_near_walk){.order = order};
    if (rc != 0)
        tn_near_fini(me, walk);
    return rc;
}

/* The attempt-th of a round. */
static inline struct tn_worker *tn_victim_near(struct tn_worker *me, uint32_t used, unsigned attempt,
                                               struct tn_near_walk *walk)
{
    if (attempt == 0) {
        walk->at = 0;
        walk->start = (uint32_t)tn_random(me);
    }
    while (walk->at + 1 < me->cluster->slots) {
        uint32_t at = walk->at++;
        struct tn_near here = walk->order[at];
        uint32_t n = (uint32_t)(here.end - here.begin);
        uint32_t index = walk->order[here.begin + (at - here.begin + walk->start) % n].index;
        walk->nearest = here.begin == 0;
        if (index < used)
            return me->cluster->workers[index];
    }
    return NULL;
}

#endif
