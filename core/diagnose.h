/* SPDX-License-Identifier: MIT
 *
 * What the core tells the diagnoses (diagnose.c: deadlock, stall, SIGQUIT; dump.c: the dump), and keeps for them.
 */
#ifndef TN_DIAGNOSE_H
#define TN_DIAGNOSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "platform.h"

struct fibre;
struct runtime;
struct worker;
struct tn_config;

/* A runtime's part. */
struct diagnosis {
    struct runtime *next; /* under the lock of diagnoses: all runtimes of the process */
    int64_t deadlock, stall_ms, sigquit;
    uint64_t reported; /* under that lock: the parks at which it was last found in a deadlock */
    struct tn_thread watchdog;
    _Atomic(uint32_t) stop; /* the watchdog shall end */
    const void *layout;     /* for debuggers: so that the linker takes layout.c */
};

/* For debuggers, which find them by name: the first runtime; where things are (layout.c). */
extern struct runtime *tn_debug_runtimes;
struct layout_row {
    char name[28];
    uint32_t value;
};
extern const struct layout_row tn_debug_layout[];

void diagnose_anew(void); /* a runtime will be made, perhaps in a child of fork */
void diagnose_begin(struct runtime *rt, const struct tn_config *config);
void diagnose_end(struct runtime *rt); /* its workers have ended */
void diagnose_worker_begins(struct worker *w);
void diagnose_worker_ends(struct worker *w);

/* A thread of a runtime that wakes no fibre by itself: the timekeeper, the monitor, the watchdog. (One of the pool for
 * blocking calls is so while it is idle, which the pool tells.) */
void diagnose_own_begins(void);
void diagnose_own_ends(void);

/* A thread that is no worker blocks in a Tenter call, from before it can be found until whoever wakes it says that it
 * does so no more. Only while all workers of the process are idle and all other threads blocked so is it a deadlock. */
void diagnose_blocks(void);
void diagnose_unblocks(void);

/* Wait, as tn_park does, for *word to be no more 0; and meanwhile look whether it ever can be. */
void diagnose_await(struct runtime *rt, _Atomic(uint32_t) *word);

/* For who waits otherwise: until when, zeroed at first. Looks when that has come. */
struct naps {
    tn_time nap, look;
};
tn_time diagnose_until(struct runtime *rt, struct naps *n);

/* The calling fibre did what cannot be meant: one line with its name, and from where. */
void diagnose_misuse(struct fibre *self, const char *what);

/* ---- for dump.c ---- */

/* Every control block there is, living or not, without a lock: whoever holds one may be stopped. */
void each_block(struct runtime *rt, void (*visit)(struct fibre *f, void *arg), void *arg);

/* What a fibre is doing, as far as one can tell while others run. */
enum doing { DOING_NOTHING, DOING_RUN, DOING_READY, DOING_WAIT, DOING_JOIN, DOING_ENDED, DOINGS };
enum doing fibre_doing(struct fibre *f);

/* The dump, of all runtimes from `first`, under the lock of diagnoses. `here` is where the caller is. */
int dump(int fd, struct runtime *first, const struct tn_where *here, const char *reason);

/* In a child of fork: whatever of the parent's dump has not been written is forgotten. */
void dump_anew(void);

#endif
