/* SPDX-License-Identifier: MIT */
/* lifo, small queues: a worker joins while another one makes fibres ready; see parts-case.h. */
#include "parts-case.h"

#include "lifo/lifo.c"
#include "dscheck/stub_core.c"

PARTS_JOIN(lifo, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ))
