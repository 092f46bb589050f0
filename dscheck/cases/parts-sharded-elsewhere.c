/* SPDX-License-Identifier: MIT */
/* sharded: fibres that wait by yielding for one of another shard, whose worker is busy; see parts-case.h. */
#include "parts-case.h"

#include "sharded/sharded.c"
#include "dscheck/stub_core.c"

PARTS_PREFER(sharded, PARTS_KNOBS({"shards", 2}, ))
