/* SPDX-License-Identifier: MIT */
/*
 * mutexword: one holds it and two lock it, with barging: who is woken has to get the mutex as anybody else.
 */
#define HOW barging
#include "mutex-case.h"

static void check(void)
{
    expect(3, 3);
}

CASE_MAIN(prepare, check, holder, locker, locker)
