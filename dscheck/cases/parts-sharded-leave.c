/* SPDX-License-Identifier: MIT */
/* sharded: a worker leaves, and nobody has its shard as its own; see parts-case.h. */
#include "parts-case.h"

#include "sharded/sharded.c"
#include "dscheck/stub_core.c"

PARTS_LEAVE(sharded, PARTS_KNOBS({"shards", 2}, {"capacity", 1}, ), )
