/* SPDX-License-Identifier: MIT */
/* chase_lev with the face of spmc-case.h, and room for a larger array. */
#ifndef CHASE_LEV_CASE_H
#define CHASE_LEV_CASE_H

#define TN_QUEUES_STANDALONE
#define SPMC(x) chase##x

#include "core/queues/chase_lev.h"

struct chase {
    struct tn_chase_lev q;
    _Alignas(8) unsigned char array[64], larger[64];
};

static inline size_t chase_bytes(size_t capacity)
{
    return (void)capacity, sizeof(struct chase);
}
static inline void chase_init(struct chase *c, size_t capacity)
{
    tn_chase_lev_init(&c->q, c->array, capacity);
}
static inline bool chase_push(struct chase *c, void *item)
{
    return tn_chase_lev_push(&c->q, item);
}
static inline void *chase_pop(struct chase *c)
{
    return tn_chase_lev_pop(&c->q);
}
static inline size_t chase_steal(struct chase *c, size_t max, void *out[])
{
    return max != 0 && (out[0] = tn_chase_lev_steal(&c->q)) != NULL;
}
static inline size_t chase_length(struct chase *c)
{
    return tn_chase_lev_length(&c->q);
}
static inline bool chase_valid(struct chase *c)
{
    return tn_chase_lev_valid(&c->q);
}

#include "spmc-case.h"

#endif
