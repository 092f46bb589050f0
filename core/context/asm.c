/* SPDX-License-Identifier: MIT
 *
 * Finding things in a context that is parked.
 */
#include "../platform.h"

const char tn_context_name[] = "asm";

#if defined(__x86_64__)

void tn_context_where(void *context, uintptr_t *pc, uintptr_t *sp, uintptr_t *fp)
{
    const uintptr_t *frame = context;
    *pc = frame[TN_FRAME_RIP];
    *fp = frame[TN_FRAME_RBP];
    *sp = (uintptr_t)(frame + TN_FRAME_ENTRY);
}

#elif defined(__aarch64__)

void tn_context_where(void *context, uintptr_t *pc, uintptr_t *sp, uintptr_t *fp)
{
    const uintptr_t *frame = context;
    *pc = frame[TN_FRAME_PC];
    *fp = frame[TN_FRAME_FP];
    *sp = (uintptr_t)(frame + TN_FRAME_ENTRY);
}

#endif
