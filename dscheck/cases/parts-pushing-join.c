/* SPDX-License-Identifier: MIT */
/* pushing, a worker joins while another one pushes a fibre; see parts-case.h. */
#include "parts-case.h"

#include "pushing/pushing.c"
#include "dscheck/stub_core.c"

PARTS_JOIN(pushing, PARTS_KNOBS({"queue", TN_PUSHED_NEMESIS}, {"fresh", FRESH_PUSH}, ))
