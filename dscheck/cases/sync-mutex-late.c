/* SPDX-License-Identifier: MIT */
/*
 * mutexword: one holds it, one waits, and one that waits gives up at whatever moment: what it was
 * claimed for is not lost, and nobody finds it in the ring afterwards.
 */
#define HOW barging
#include "mutex-case.h"

static void check(void)
{
    expect(2, 3);
}

CASE_MAIN(prepare, check, holder, locker, late)
