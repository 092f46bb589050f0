/* SPDX-License-Identifier: MIT */
/* sharded, one shard: a worker without one of its own joins while another one makes fibres ready; see parts-case.h. */
#include "parts-case.h"

#include "sharded/sharded.c"
#include "dscheck/stub_core.c"

PARTS_JOIN(sharded, PARTS_KNOBS({"shards", 1}, ))
