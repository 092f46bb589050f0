/* SPDX-License-Identifier: MIT */
/* The failing execution, on standard output: see answer.c. */
#ifndef DSCHECK_ANSWER_H
#define DSCHECK_ANSWER_H

void answer_failure(void);

#endif
