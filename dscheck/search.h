/* SPDX-License-Identifier: MIT */
/*
 * The search over execution graphs, in the manner of TruSt (Kokologiannakis, Marmanis, Gladstein, Vafeiadis, POPL 2022):
 * each graph is reached once, and what is still to be tried is a stack, so memory is bounded by the length of an
 * execution times the depth of revisits.
 *
 * run.c executes the program and adds events, each where it is last in the model's order.  What else an event could have
 * done is pushed here as an item; search_next() takes the latest one, and makes the graph that it stands for.
 *
 *   a read takes its value from the latest write;     READ items: from an earlier one
 *   a write comes last in its modification order;     PLACE items: earlier
 *   a write lets an earlier read take its value:      REVISIT items.  The events that were added after the read, and do
 *                                                     not lead to the write, go; that is done only from the graph in
 *                                                     which each of them had done what comes first, so once.
 *   a read-modify-write takes its value from a write that another one has taken already: REVISIT items as well, for
 *   the other one must now take its value from this one.
 */
#ifndef DSCHECK_SEARCH_H
#define DSCHECK_SEARCH_H

#include "graph.h"
#include "stream.h"

extern const struct model *search_model;
extern struct frame *search_graph; /* the graph at hand */
extern uint64_t search_discarded;  /* graphs that were made and are not consistent: work in vain */

/* The events of search_graph in an order of execution, by the last search_next(). */
extern uint16_t search_order[];
extern int search_ordered;

/* A read that took the value of a later write, and is the last of its thread; NIL: none. */
extern uint16_t search_revisited;

void search_init(void);
bool search_next(void); /* false: nothing is left */

void search_push_read(uint16_t e, uint16_t rf, unsigned choice);
void search_push_instead(uint16_t e,
                         uint16_t rf); /* what had come after rf was in vain for e: this is what comes first */
void search_push_steal(uint16_t e, uint16_t rf, unsigned choice); /* whose value another one takes */
void search_push_place(uint16_t e, uint16_t after);
void search_push_revisits(uint16_t w);

/* e reads rf: its values, its links, its clock. */
void search_settle(uint16_t e, uint16_t rf, unsigned choice);
/* A revisited read-modify-write that would store what it read turns out to be no loop: it writes. */
void search_write_part(uint16_t e);

/* What is still to be tried, between two executions. */
void search_stream(struct stream *s);
/* A half of it for another process: true; search_stream(); false, and from then on the other half is what is left here. */
bool search_splits(void); /* there are two to be had */
void search_split(bool give);
void search_clear(void); /* nothing is */

extern unsigned search_shard, search_shards; /* this one, of so many */
bool search_counts(void);                    /* whether the graph at hand is this shard's */

unsigned search_depth(void);
double search_done(void); /* estimated part of the search that is over, 0 … 1 */

#endif
