/* SPDX-License-Identifier: MIT */
/*
 * lifo, layout=global: whoever waits by yielding lets the others run (003 §4.4.4); see parts-case.h. With -DPLAIN the module
 * is plainlifo, which puts on top what yields: the two newest take turns for ever.
 */
#include "parts-case.h"

#ifdef PLAIN
#include "tests/modules/plainlifo/plainlifo.c"
#define MODULE plainlifo
#define KNOBS
#else
#include "lifo/lifo.c"
#define MODULE lifo
#define KNOBS  PARTS_KNOBS({"layout", LAYOUT_GLOBAL}, {"capacity", 4}, )
#endif
#include "dscheck/stub_core.c"

#define YIELDERS(id) PARTS_YIELDERS(id, KNOBS)
YIELDERS(MODULE)
