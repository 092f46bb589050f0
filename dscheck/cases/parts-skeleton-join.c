/* SPDX-License-Identifier: MIT */
/* skeleton: a worker joins while another one makes fibres ready; see parts-case.h. */
#include "parts-case.h"

#include "skeleton/skeleton.c"
#include "dscheck/stub_core.c"

PARTS_JOIN(skeleton, )
