/* SPDX-License-Identifier: MIT
 *
 * The C half of the assembly contexts: laying out a new stack, and finding things in a parked one.
 */
#include "../platform.h"

const char tn_context_name[] = "asm";

void tn_context_begin(void);

#if defined(__x86_64__)

enum { FPU, R15, R14, R13, R12, RBX, RBP, RIP, FRAME };

void *tn_context_make(void *top, size_t bytes, void (*entry)(void *arg))
{
    (void)bytes;
    /* 16-aligned where tn_context_begin starts, as the ABI wants before its call. */
    uintptr_t at = ((uintptr_t)top & ~(uintptr_t)15) - FRAME * sizeof(uintptr_t);
    uintptr_t *frame = (uintptr_t *)at;
    uint32_t mxcsr = __builtin_ia32_stmxcsr();
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    frame[FPU] = mxcsr | (uintptr_t)x87 << 32; /* the maker's, as a thread inherits its creator's */
    frame[R15] = frame[R14] = frame[R13] = frame[R12] = 0;
    frame[RBX] = (uintptr_t)entry;
    frame[RBP] = 0;
    frame[RIP] = (uintptr_t)tn_context_begin;
    return frame;
}

void tn_context_where(void *context, uintptr_t *pc, uintptr_t *sp, uintptr_t *fp)
{
    const uintptr_t *frame = context;
    *pc = frame[RIP];
    *fp = frame[RBP];
    *sp = (uintptr_t)(frame + FRAME);
}

#else
#error "no assembly context for this processor: configure with -Dcontext=ucontext"
#endif
