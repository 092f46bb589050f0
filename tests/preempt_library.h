/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PREEMPT_LIBRARY_H
#define TESTS_PREEMPT_LIBRARY_H

int library_inside(void); /* how many calls are under way */
void library_spin(volatile unsigned *until, unsigned value);
void library_call(void (*fn)(void *), void *arg);

#endif
