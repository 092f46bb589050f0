/* SPDX-License-Identifier: MIT */
/* Executing the program, again and again: see run.c. */
#ifndef DSCHECK_RUN_H
#define DSCHECK_RUN_H

#include "search.h"

enum strategy { EXHAUSTIVE, RANDOM, PCT, BOUNDED, SCHEDULE };

struct run_options {
    enum strategy strategy;
    bool retry_as_await, spurious_cas;
    unsigned bound;        /* of BOUNDED: preemptions; of PCT: changes of priority */
    uint64_t seed, budget; /* executions */
    double seconds;
    bool resume;             /* begin with run_more() */
    uint32_t events_max;     /* of an execution */
    const uint8_t *schedule; /* of SCHEDULE: pairs of thread and choice */
    size_t schedule_n;
};
extern struct run_options run_options;

/* What a failure is told by: a plain access is no event, nor is what ended the execution. */
struct run_mark {
    uint32_t pc;
    uint16_t epoch; /* events of its thread before it */
    uint8_t tid;
    bool event;  /* it is the next event itself */
    uint64_t at; /* 0: it has no address */
    char what[48];
};

struct run_result {
    uint64_t executions, blocked;
    bool bug, incomplete, unsupported;
    char kind[48], message[1024];
    struct run_mark mark[2]; /* the accesses that race; or one: what failed */
    unsigned marks;
    unsigned threads;
    uint64_t conflicts; /* pairs of threads that met at a location, at least */
    uint64_t events;
};
extern struct run_result run_result;

/* What happened, in the order in which it did, in the execution at hand. */
struct run_step {
    uint16_t slot;
    uint8_t tid;
};
extern struct run_step run_trace[SLOTS_MAX];
extern uint32_t run_traced;

extern volatile uint64_t run_entries; /* how often a thread has asked for something */

void run_all(void);
uint64_t place_address(uint16_t loc);
struct request;
void run_atomic(const struct request *q, unsigned tid); /* held against plain accesses */
/* An atomic access there, which another one preceded, meets no plain one, nor the heap. */
bool run_quiet(uint64_t at);
/* This one, of the thread at hand, is a wrong access to the heap. */
_Noreturn void run_heap_wrong(const char *wrong, const struct request *q);
void run_forget(void); /* before each execution: races */
/* What is before a thread's next access; NULL: nothing.  Its epoch: how many events it has done. */
const struct clock *run_clock(unsigned tid, uint16_t *epoch);
void run_waiting(char *text, size_t size); /* who waits for what */

extern volatile int run_interrupted;
void run_tick(void); /* now and then: progress, time, splitting; run.c calls it */
bool run_more(void); /* nothing is left to try here: waits for what there is elsewhere, and loads it (run_stream) */
void run_stream(struct stream *s); /* what is still to be tried, between two executions */
extern uint8_t *run_seen;          /* a byte for each of the code: whether an operation there was executed */

#endif
