/* SPDX-License-Identifier: MIT */
/* hybrid, small parts: a worker joins while another one makes fibres ready; see parts-case.h. */
#include "parts-case.h"

#include "hybrid/hybrid.c"
#include "dscheck/stub_core.c"

PARTS_JOIN(hybrid, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ))
