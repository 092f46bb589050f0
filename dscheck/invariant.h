/* SPDX-License-Identifier: MIT */
/*
 * Invariants: what must hold in every state between two operations.
 *
 * A graph stands for many interleavings, which pass through other states.  The states of all of them are its consistent
 * cuts: sets of events that hold whatever is before one of them in the model's order.  So, when an execution is over, we
 * look at each cut of the writes to locations that the invariant reads, put there what that cut leaves, and ask it.
 */
#ifndef DSCHECK_INVARIANT_H
#define DSCHECK_INVARIANT_H

#include "exec.h"

void invariant_check(void); /* at the end of an execution */
bool invariant_asks(void);  /* it is the invariant that has a request */
/* The answer to its request. */
uint64_t invariant_answer(const struct request *q);

#endif
