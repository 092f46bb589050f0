/* SPDX-License-Identifier: MIT
 *
 * The null poller: no descriptors. An idle worker parks on its own word.
 */
#include "poller.h"

const struct tn_poller tn_poller_null = {
    .name = "null",
    .summary = "no I/O",
};
