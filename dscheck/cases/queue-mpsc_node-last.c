/* SPDX-License-Identifier: MIT */
/* mpsc_node: the consumer takes what was the last item while another one comes; see mpsc-case.h. */
#include "mpsc_node-case.h"

CASE_MAIN(mpsc_last, mpsc_check, mpsc_one, mpsc_consumer)
