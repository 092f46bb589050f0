/* SPDX-License-Identifier: MIT
 *
 * Finding things in a context that is parked.
 */
#include "../platform.h"
#include "../sanitize.h"

const char tn_context_name[] = "asm";

#if defined(__x86_64__)

const struct tn_context_layout tn_context_layout = {
    .pc = TN_FRAME_RIP * sizeof(uintptr_t),
    .fp = TN_FRAME_RBP * sizeof(uintptr_t),
    .sp = -1,
    .sp_add = TN_FRAME_ENTRY * sizeof(uintptr_t),
};

TN_LOOKS void tn_context_where(void *context, uintptr_t *pc, uintptr_t *sp, uintptr_t *fp)
{
    const uintptr_t *frame = context;
    *pc = frame[TN_FRAME_RIP];
    *fp = frame[TN_FRAME_RBP];
    *sp = (uintptr_t)(frame + TN_FRAME_ENTRY);
}

#elif defined(__aarch64__)

const struct tn_context_layout tn_context_layout = {
    .pc = TN_FRAME_PC * sizeof(uintptr_t),
    .fp = TN_FRAME_FP * sizeof(uintptr_t),
    .sp = -1,
    .sp_add = TN_FRAME_ENTRY * sizeof(uintptr_t),
};

TN_LOOKS void tn_context_where(void *context, uintptr_t *pc, uintptr_t *sp, uintptr_t *fp)
{
    const uintptr_t *frame = context;
    *pc = frame[TN_FRAME_PC];
    *fp = frame[TN_FRAME_FP];
    *sp = (uintptr_t)(frame + TN_FRAME_ENTRY);
}

#endif
