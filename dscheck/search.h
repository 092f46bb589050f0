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

/*
 * Graphs that are asleep.  A turn of a loop that is in vain is no execution unless somebody writes where it looks, and
 * whatever is written with it is written without it as well.  So two items may sleep, until such a write has been seen in
 * what is searched before them, and are dropped where none was:
 *
 *   a read of an older value, when each turn that begins so is in vain: all that follows a later value comes before it;
 *   the graph as it is, where a thread waits, when a write is given to an earlier read of its turn: all that follows from
 *   that revisit comes before it.  Since reads that are older than that one are revisited from this graph only, it is
 *   woken as well by a write that one of these may be given.
 *
 * A thread's own writes do not wake it, since it does not get there.  What other processes search wakes nobody: whatever
 * sleeps is woken when the search is split, and with shards sleeps only below the level at which they are dealt out.
 */

/* Locations that a turn of a loop has looked at. */
enum { SEARCH_LOOKS = 4 };
struct search_looks {
    uint16_t n, loc[SEARCH_LOOKS];
};

void search_push_read(uint16_t e, uint16_t rf, unsigned choice);
/* The same for a value with which each turn is in vain that looks there. */
void search_push_asleep(uint16_t e, uint16_t rf, const struct search_looks *looks);
void search_wrote(uint16_t w); /* w has been added, as a write: who is woken */
void search_push_instead(uint16_t e,
                         uint16_t rf); /* what had come after rf was in vain for e: this is what comes first */
void search_push_steal(uint16_t e, uint16_t rf, unsigned choice); /* whose value another one takes */
void search_push_place(uint16_t e, uint16_t after);
/* True: the graph as it is was put to sleep; the execution does not go on. */
bool search_push_revisits(uint16_t w);

/* e reads rf: its values, its links, its clock. */
void search_settle(uint16_t e, uint16_t rf, unsigned choice);
/* A read-modify-write that has taken another value writes another one: who may read it. */
void search_revised(uint16_t e);

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
