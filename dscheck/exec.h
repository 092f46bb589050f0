/* SPDX-License-Identifier: MIT */
/*
 * An execution as it is made: what run.c and the files that it is made of share.
 *
 *   place.c   where requests lie: addresses become the numbers of locations
 *   await.c   states that a thread comes back to: loops that wait
 *   pick.c    who comes next, and what is chosen where the search is not exhaustive
 *   add.c     adds an event for a request, and pushes what else it could have done
 *   invariant.c   what must hold in every state of it
 *   rest.c    what has become of it once nobody goes on
 *   run.c     executions, one after the other: repeats a graph, then adds to it
 */
#ifndef DSCHECK_EXEC_H
#define DSCHECK_EXEC_H

#include "run.h"

enum { RECORDS = 64, RECORD_BYTES = 64 * 1024, UNDOS = 256 };

struct request {
    uint8_t op, log;
    bool weak;
    uint64_t at, arg, expect;
    uint64_t *expected; /* where to write what was found */
    uint32_t pc;
};

struct record {
    void *sp;
    uint32_t bytes, at;
    uint16_t slot, undos;
    struct request q;
};

/* What plain memory outside its stack held before a thread wrote there. */
struct undo {
    char *at;
    uint64_t old;
    uint8_t size;
};

/* With --retry-as-await: what a thread has read in this turn of a loop, without having written, and whether the turn has
 * failed: by a compare-and-exchange, or since a location that was read twice had changed.  Who then comes back to such a
 * place stops: the same thread will be found, in another execution, to start that turn later. */
struct been {
    void *sp;
    uint64_t value, callers;
    uint32_t pc;
    uint16_t loc;
};

struct state {
    bool pending;
    struct request q;
    uint16_t done, latest; /* events in this execution; the latest one's slot */
    uint16_t wrote;        /* how many of the events to be repeated come before the last one that writes */
    int priority;
    unsigned records, undos, beens;
    uint32_t used;
    bool failed, stopped;
    bool refused;          /* stopped by an assumption: others go on, and may write what it would have read */
    struct been *been;     /* RECORDS */
    struct record *record; /* RECORDS */
    struct undo *undo;     /* UNDOS, since the first record */
    char *kept;            /* RECORD_BYTES */
};

extern struct state exec_state[IN_THREADS];
extern unsigned exec_threads;
extern uint64_t exec_number; /* of the execution under way */
extern bool exec_abandoned;  /* it is of no interest */

_Noreturn void exec_give_up(const char *why);

static inline bool exec_exhaustive(void)
{
    return run_options.strategy == EXHAUSTIVE;
}

static inline void exec_resume(unsigned t)
{
    in_cur = &in_thread[t];
}

/* ---- place.c ---- */

/* Whether an operation may write. */
static inline bool exec_writes(unsigned op)
{
    return op != OP_LOAD && op != OP_AWAIT && op != OP_AWAIT_OVER;
}

/* The location of a request; its initial value is what lies there when the execution first touches it. */
uint16_t place_of(const struct request *q, unsigned tid);
bool place_again(const struct request *q, unsigned tid, uint16_t loc); /* false: the request lies elsewhere */
/* It lies there, and what touching it again would find out is known: the execution has touched it before, and no plain
 * access to its cell could race. */
bool place_quiet(uint16_t loc, uint64_t at);
uint64_t place_fetch(uint64_t at, unsigned log);
void place_put(uint64_t at, unsigned log, uint64_t v);
uint16_t place_touched(uint64_t at);          /* its location, if this execution has touched it; or NIL */
void place_end(uint64_t cell, unsigned mask); /* plain code has written these bytes of eight, or freed them */
void place_stream(struct stream *s);

/* ---- await.c ---- */

bool await_may_loop(unsigned op); /* it reads, and may write nothing */
void await_record(unsigned t, uint16_t slot);
bool await_seen(unsigned t);     /* the thread has been in the state in which it is */
int await_came_back(unsigned t); /* the recorded state from which it has come back in vain; -1: none */
void await_put_back(unsigned t, const struct record *r);
void await_put_back_to(unsigned t, unsigned records); /* to the last of so many; later ones are forgotten */
bool await_room(unsigned t);                          /* for one more record */
void await_wrote(unsigned t);
void await_plain(unsigned t, const void *at, size_t size); /* it is about to write there */
void await_note_retry(unsigned t, const struct slot *s);
void await_try_retry(unsigned t, const struct slot *s); /* the same in a look ahead */
bool await_tried_retry(unsigned t);                     /* await_retries() after it; forgets it */
bool await_retries(unsigned t); /* whether the request starts another turn after one that has failed */

/* ---- pick.c ---- */

void pick_init(void);
uint64_t pick_random(void);
int pick_thread(unsigned now); /* who goes on; -1: nobody can */
unsigned pick_choice(unsigned choices);
bool pick_plan(void); /* the next schedule, where the search is not exhaustive; false: there is none */
void pick_stream(struct stream *s);

/* ---- add.c ---- */

bool add_event(unsigned t); /* the request of t; false: it waits */
bool add_looking(void);     /* a look ahead is under way */
void add_looked(void);      /* the thread that looked ahead has come to something */

/* run_clock() in a look ahead */
const struct clock *add_clock(uint16_t *epoch);

/* ---- rest.c ---- */

/* Nobody else can go on: who has stopped since its turn had failed has to try again, though nothing has changed, since its
 * loop may be one that ends.  Whose turn it is; -1: nobody's, or in reality another one would go on. */
int rest_tries_again(void);
void rest_end(void); /* counts it, or tells what is wrong */

/* ---- run.c ---- */

void run_answer(unsigned t, const struct slot *s); /* gives a thread the result of its request */
void run_perform(unsigned t, uint16_t e);          /* what an event does outside the graph */
unsigned run_number(unsigned parent);              /* the same for the same child, in whatever order they come */

#endif
