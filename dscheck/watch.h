/* SPDX-License-Identifier: MIT */
/* Watches over the process: see watch.c. */
#ifndef DSCHECK_WATCH_H
#define DSCHECK_WATCH_H

#include "run.h"

void watch_start(void); /* in each process of the checker */
/* From a signal handler: the thread of the code under test goes on in `to`, on the engine's stack. */
void watch_divert(void *context, void (*to)(void));

#endif
