/* SPDX-License-Identifier: MIT */
/* nemesis: the consumer takes what was the last item while another one comes; see mpsc-case.h. */
#define MPSC(x) tn_nemesis##x

#include "queue-case.h"

#include "core/queues/nemesis.h"
#include "mpsc-case.h"

CASE_MAIN(mpsc_last, mpsc_check, mpsc_one, mpsc_consumer)
