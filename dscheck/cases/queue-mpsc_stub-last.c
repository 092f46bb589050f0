/* SPDX-License-Identifier: MIT */
/* mpsc_stub: the consumer takes what was the last item while another one comes; see mpsc-case.h. */
#define MPSC(x) tn_mpsc_stub##x

#include "queue-case.h"

#include "core/queues/mpsc_stub.h"
#include "mpsc-case.h"

CASE_MAIN(mpsc_last, mpsc_check, mpsc_one, mpsc_consumer)
