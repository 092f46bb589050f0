/* SPDX-License-Identifier: MIT
 *
 * Finding things in a context that is parked.
 */
#include "../platform.h"

const char tn_context_name[] = "asm";

#if defined(__x86_64__)

TN_FOR_DEBUGGERS const struct tn_context_layout tn_context_layout = {
    .pc = TN_FRAME_RIP * sizeof(uintptr_t),
    .fp = TN_FRAME_RBP * sizeof(uintptr_t),
    .sp = -1,
    .sp_add = TN_FRAME_ENTRY * sizeof(uintptr_t),
};

#elif defined(__aarch64__)

TN_FOR_DEBUGGERS const struct tn_context_layout tn_context_layout = {
    .pc = TN_FRAME_PC * sizeof(uintptr_t),
    .fp = TN_FRAME_FP * sizeof(uintptr_t),
    .sp = -1,
    .sp_add = TN_FRAME_ENTRY * sizeof(uintptr_t),
};

#endif
