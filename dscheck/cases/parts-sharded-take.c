/* SPDX-License-Identifier: MIT */
/* sharded: an owner at work, who has a shard of its own, and another worker; see parts-case.h. */
#include "parts-case.h"

#include "sharded/sharded.c"
#include "dscheck/stub_core.c"

PARTS_TAKE(sharded, PARTS_KNOBS({"shards", 2}, {"capacity", 1}, ), )
