/* SPDX-License-Identifier: MIT */
/* fifo: soft yields that pass the worker on, and a thief, who may take none that still runs; see parts-case.h. */
#include "parts-case.h"

#include "fifo/fifo.c"
#include "dscheck/stub_core.c"

PARTS_PASS(fifo, PARTS_KNOBS({"private", 2}, {"capacity", 2}, ), PARTS_HELD(W0))
