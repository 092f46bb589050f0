/* SPDX-License-Identifier: MIT */
/* sharded: work behind a hog, and a worker that looks for it; see parts-case.h. */
#include "parts-case.h"

#include "sharded/sharded.c"
#include "dscheck/stub_core.c"

PARTS_NEED(sharded, PARTS_KNOBS({"shards", 2}, {"capacity", 1}, ), , TN_SPAWNED)
