/* SPDX-License-Identifier: MIT */
/*
 * One exploration by several processes, and what outlives them: progress, budgets, the checkpoint.
 *
 * A part is what somebody has still to try, as bytes (run_stream).  Who has nothing to try is hungry, and takes the next
 * part that lies there; who has work gives a half of it while somebody is hungry (search_split).  The first process makes
 * the others once it is worth it: they begin hungry.  What all have in common lies in shared memory.
 *
 * A checkpoint is a number of parts as well, which must fit together: all that have work write theirs, each between two
 * executions and before it gives anything again; what lies there to be taken is of it as it is; who takes a part meanwhile
 * has none of its own.  Whoever writes the last one puts the file together, beside the old one, and renames it.  To
 * resume is to lay the parts out, for as many processes as there are now.
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
