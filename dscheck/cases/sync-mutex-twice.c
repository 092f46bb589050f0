/* SPDX-License-Identifier: MIT */
/*
 * mutexword: one holds it, one locks it twice, with barging: who has given the mutex back comes again beside the one that it has woken.
 */
#define HOW barging
#include "mutex-case.h"

static void *twice(void *random)
{
    case_start(random);
    for (int i = 0; i < 2; i++) {
        lock(&mutex);
        use();
    }
    return case_end();
}

static void check(void)
{
    expect(3, 3);
}

CASE_MAIN(prepare, check, holder, twice)
