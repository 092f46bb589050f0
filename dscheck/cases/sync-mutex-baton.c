/* SPDX-License-Identifier: MIT */
/*
 * mutexword: one holds it and two lock it, and it is handed over: it is never free while somebody waits.
 */
#define HOW baton
#include "mutex-case.h"

static void check(void)
{
    expect(3, 3);
}

CASE_MAIN(prepare, check, holder, locker, locker)
