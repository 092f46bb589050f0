/* SPDX-License-Identifier: MIT */
/* nemesis: two producers, one item and two, and the consumer; see mpsc-case.h. */
#define MPSC(x) tn_nemesis##x

#include "queue-case.h"

#include "core/queues/nemesis.h"
#include "mpsc-case.h"

CASE_MAIN(mpsc_prepare, mpsc_check, mpsc_one, mpsc_two, mpsc_consumer)
