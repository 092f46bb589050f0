/* SPDX-License-Identifier: MIT */
#ifndef DSCHECK_REVISIT_H
#define DSCHECK_REVISIT_H

#include "graph.h"

/* Does slot i go when the read r is to read the new write w: added after r, and nothing that leads to w? */
bool revisit_drops(const struct frame *g, uint16_t i, uint16_t r, uint16_t w);

/* May it: did r, and all that goes with it, do what comes first? Else another order of additions leads there. */
bool revisit_may(const struct frame *g, uint16_t r, uint16_t w);

#endif
