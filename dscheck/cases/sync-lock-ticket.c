/* SPDX-License-Identifier: MIT */
/* The lock inside the primitives, by tickets: three threads count under it. */
#define TN_LOCK 1 /* TN_LOCK_TICKET */
#include "innerlock-case.h"

CASE_MAIN(prepare, check, locker, locker, locker)
