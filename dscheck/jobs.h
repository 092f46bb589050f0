/* SPDX-License-Identifier: MIT */
/*
 * One exploration by several processes, and what outlives them: progress, budgets, the checkpoint.
 *
 * Who has work forks when another process may run, and keeps half of its stack (search_split).  What they have in
 * common lies in shared memory.
 *
 * A checkpoint is a number of parts: what a process has still to try (search_stream), and what was executed so far.  Parts
 * must fit together, so each process writes its own between two executions, before it forks again; a process that has
 * ended has no part, one that was forked has its parent's place in line.  Whoever writes the last part puts the file
 * together, beside the old one, and renames it.  To resume is to hand the parts out again, to as many processes as there
 * are now.
 */
#ifndef DSCHECK_JOBS_H
#define DSCHECK_JOBS_H

#include "run.h"

struct jobs_options {
    int processes;
    const char *checkpoint, *options; /* the file; a line that says what must be the same when it is resumed */
    double interval;                  /* between two checkpoints, in seconds */
    bool resume, progress;
};
extern struct jobs_options jobs_options;

void jobs_init(void); /* after the code under test was loaded */
/* After run_all(): run_result becomes everybody's, in the first process; the others do not come back. */
void jobs_end(void);
double jobs_now(void);     /* seconds, from no particular moment on */
double jobs_seconds(void); /* since the beginning, those before a checkpoint included */
bool jobs_first(void);     /* whether this failure is the first; it is reported by who found it */
bool jobs_lost(void);      /* whether a process was killed: its part is missing */

#endif
