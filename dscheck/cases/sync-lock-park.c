/* SPDX-License-Identifier: MIT */
/* The lock inside the primitives whose waiters sleep: three threads count under it, and none sleeps for ever. */
#define TN_LOCK 2 /* TN_LOCK_PARK */
#include "innerlock-case.h"

CASE_MAIN(prepare, check, locker, locker, locker)
