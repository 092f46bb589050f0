/* SPDX-License-Identifier: MIT */
/*
 * mutexword: the mutex is handed over while the one that it is to go to gives up.
 */
#define HOW baton
#include "mutex-case.h"

static void check(void)
{
    expect(2, 3);
}

CASE_MAIN(prepare, check, holder, locker, late)
