/* SPDX-License-Identifier: MIT */
/* multiq: a worker joins while another one makes fibres ready; see parts-case.h. */
#include "parts-case.h"

#include "multiq/multiq.c"
#include "dscheck/stub_core.c"

PARTS_JOIN(multiq, PARTS_KNOBS({"queues", 1}, {"buffer", 1}, ))
