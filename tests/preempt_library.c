/* SPDX-License-Identifier: MIT
 *
 * A library that knows nothing of fibres, and must not be left in the middle: for test_preempt.c.
 */
#include "preempt_library.h"

#include <stdlib.h>

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

static _Thread_local volatile int allocates_here;

void *library_allocate(void *old, size_t size)
{
    allocates_here++;
    free(old);
    void *p = malloc(size);
    allocates_here--;
    return p;
}

int library_allocates_here(void)
{
    return allocates_here;
}
