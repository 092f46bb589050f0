/* SPDX-License-Identifier: MIT */
/*
 * idle: a cluster of one worker, and a waker that is no worker of it: neither relies on a fence of the other's.
 */
#define CASE_FENCES
enum { WORKERS = 1, ITEMS = 2, GETS = 2, ASLEEP = 0, THERE = 0 };
#define CASE_WANTED tn_idle_wanted_outside

#include "idle-case.h"

void tn_fence_light(void)
{
    assert(!"a light fence, though no heavy one makes it one");
}

void tn_fence_heavy(void)
{
    assert(!"a heavy fence, though nobody passes a light one");
}

CASE_MAIN(prepare, check, waker, worker0)
