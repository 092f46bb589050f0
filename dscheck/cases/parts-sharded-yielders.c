/* SPDX-License-Identifier: MIT */
/* sharded: fibres that wait by yielding for one that comes in from outside; see parts-case.h. */
#include "parts-case.h"

#include "sharded/sharded.c"
#include "dscheck/stub_core.c"

PARTS_YIELDERS(sharded, PARTS_KNOBS({"shards", 2}, {"capacity", 1}, ))
