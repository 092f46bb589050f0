/* SPDX-License-Identifier: MIT */
/* What is still to be tried: a stack of items, each of which makes a graph (search.c). */
#ifndef DSCHECK_ITEMS_H
#define DSCHECK_ITEMS_H

#include "search.h"

enum item_kind { READ, PLACE, REVISIT, STEAL, AS_IT_IS };
enum { OURS, ELSEWHERE /* another process has it */, APART /* not what is being given away */ };
enum { SHARD_LEVEL = 3 };

struct item {
    uint8_t kind, choice, level, whose, tid;
    uint16_t e, other, r; /* other: the write to read, or the one to come after */
    uint32_t n;           /* the graph's size then */
    uint32_t id;          /* a digest of how the graph is reached, the same in every process */
    float weight;
    struct search_looks looks; /* n > 0: it is asleep until somebody writes there */
};

extern struct item *items;
extern uint32_t items_top, items_asleep;

/* Of the graph at hand: how many items led to it, up to SHARD_LEVEL; a digest of these; how many it has pushed; its
 * weight in the whole. */
extern uint8_t items_level;
extern uint32_t items_id, items_pushed;
extern float items_weight;
extern uint32_t items_from; /* what is above was pushed for it, and has no weight yet */

/* Its weight is shared out equally among itself and what was pushed for it. */
void items_share(void);

struct item *items_push(enum item_kind kind, uint16_t e, uint16_t other);

/* What is searched before an item that is pushed now is all searched here, not in part by other shards. */
bool items_whole(void);

/* Read q may be given a new value: who is asleep with a read that came later, and would go. */
void items_wake_behind(uint16_t q);

void items_stream(struct stream *s);

#endif
