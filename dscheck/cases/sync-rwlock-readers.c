/* SPDX-License-Identifier: MIT */
/*
 * Reader-writer lock, readers preferred: two read, one writes. No reader waits behind a writer that waits, and the last of them
 * lets it in.
 */
#include "rwlock-case.h"

static void prepare(void)
{
    tn_rwlock_init(&rw, TN_RWLOCK_READERS);
    value = 0;
}

CASE_MAIN(prepare, check, reads, writes, reads)
