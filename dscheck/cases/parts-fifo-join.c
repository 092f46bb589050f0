/* SPDX-License-Identifier: MIT */
/* fifo, small queues: a worker joins while another one makes fibres ready; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_JOIN(fifo, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ))
