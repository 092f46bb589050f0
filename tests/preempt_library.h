/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PREEMPT_LIBRARY_H
#define TESTS_PREEMPT_LIBRARY_H

#include <stddef.h>

int library_inside(void); /* how many calls are under way */
void library_spin(volatile unsigned *until, unsigned value);
void library_call(void (*fn)(void *), void *arg);

/* free(old) and malloc(size), and how many calls of that are under way on the calling thread. */
void *library_allocate(void *old, size_t size);
int library_allocates_here(void);

#endif
