/* SPDX-License-Identifier: MIT
 *
 * A library that knows nothing of fibres, and must not be left in the middle: for test_preempt.c.
 */
#include "preempt_library.h"

static volatile int inside;

int library_inside(void)
{
    return inside;
}

void library_spin(volatile unsigned *until, unsigned value)
{
    inside++;
    while (*until < value)
        ;
    inside--;
}

void library_call(void (*fn)(void *), void *arg)
{
    inside++;
    fn(arg);
    inside--;
}
