/* SPDX-License-Identifier: MIT */
/*
 * Reader-writer lock, fair: two write, one reads. Nobody writes beside another one, and nobody waits for ever.
 */
#include "rwlock-case.h"

static void prepare(void)
{
    tn_rwlock_init(&rw, TN_RWLOCK_FAIR);
    value = 0;
}

CASE_MAIN(prepare, check, writes, reads, writes)
