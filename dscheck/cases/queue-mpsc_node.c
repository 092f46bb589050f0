/* SPDX-License-Identifier: MIT */
/* mpsc_node: two producers, one item and two, and the consumer; see mpsc-case.h. */
#include "mpsc_node-case.h"

CASE_MAIN(mpsc_prepare, mpsc_check, mpsc_one, mpsc_two, mpsc_consumer)
