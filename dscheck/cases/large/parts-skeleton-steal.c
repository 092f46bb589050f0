/* SPDX-License-Identifier: MIT */
/* Large: no bound, and no end in sight.  A --budget explores a part, and the answer is *incomplete*: no proof. */
/* skeleton: two workers on one queue; see parts-case.h. */
#include "../parts-case.h"

#include "skeleton/skeleton.c"
#include "dscheck/stub_core.c"

PARTS_STEAL(skeleton, , )
