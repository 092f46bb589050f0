/* SPDX-License-Identifier: MIT
 *
 * The workload mixer with a planted fault: nobody waits, neither for a frame nor for what others make of it. On one worker a
 * leg then sends all its frames before anything has been added up: the mixer's check must call both wrong.
 */
#include <tenter_sync.h>

#define tn_promise_get(p)      ((void *)(p))
#define tn_sleep_until(at, by) ((void)(at))
#include "../experiments/workloads/mixer.c"
