/* SPDX-License-Identifier: MIT
 *
 * Context switch for aarch64 (AAPCS64). Moves registers, nothing else; the same idea as x86_64.h, which says why it is
 * inline and ends in a jump.
 *
 * A suspended context is its stack pointer, which points to
 *
 *      0  x29 (frame pointer)      8  address to resume at      16  FPCR      24  (keeps sp 16-aligned)
 *
 * - The callee-saved registers x19 to x28 are clobbers: the compiler saves those in the function that switches. So
 *   are v8 to v15, of which a callee keeps d8 to d15 only: the compiler saves these, and knows that the upper halves are
 *   gone. (Kept by hand they would have to be whole, since a vector may live in one across this statement.)
 * - FPCR, rounding and the like, belongs to the fibre: the ABI wants it preserved over a call. Writing it may
 *   empty the pipeline while reading it does not, so it is written only where the two differ.
 * - x18 is a clobber too: Linux leaves it to the compiler, which keeps values in it. (A shadow call stack would need
 *   it, one for each fibre: do not build with -fsanitize=shadow-call-stack.)
 * - x29 is kept by hand, since it is the frame pointer; x30 is a clobber.
 * - BTI: the jump goes through x16 to a landing pad. PAC: return addresses that the compiler signs are signed with the
 *   stack pointer at which they are checked, and come back with the stack. The address to resume at is not signed, so
 *   the object with tn_context_begin carries the mark of BTI and not that of PAC, and the linker leaves PAC off the
 *   whole program: nobody is led to believe that a parked fibre is protected.
 */
#ifndef TN_CONTEXT_AARCH64_H
#define TN_CONTEXT_AARCH64_H

#if defined(__ARM_FEATURE_SVE)
#define TN_CLOBBER_SVE \
    , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15", "ffr"
#else
#define TN_CLOBBER_SVE
#endif

/* "bti j": where the processor checks, an indirect branch may only land on this. */
#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define TN_LANDING "hint #36\n\t"
#else
#define TN_LANDING ""
#endif

static inline __attribute__((always_inline)) void *tn_context_switch(void **from, void *to, void *arg)
{
    register void **x0 __asm__("x0") = from;
    register void *x1 __asm__("x1") = to;
    register void *x2 __asm__("x2") = arg;
    __asm__ volatile("adr x9, 1f\n\t"
                     "mrs x10, fpcr\n\t"
                     "sub sp, sp, #32\n\t"
                     "stp x29, x9, [sp]\n\t"
                     "str x10, [sp, #16]\n\t"
                     "mov x11, sp\n\t"
                     "str x11, [x0]\n\t"
                     "mov sp, x1\n\t" /* from here on the other stack, of the same layout */
                     "ldr x12, [sp, #16]\n\t"
                     "cmp x10, x12\n\t"
                     "b.eq 2f\n\t"
                     "msr fpcr, x12\n\t"
                     "2:\n\t"
                     "ldp x29, x16, [sp]\n\t"
                     "add sp, sp, #32\n\t"
                     "br x16\n\t"
                     "1:\n\t" TN_LANDING
                     : "+r"(x0), "+r"(x1), "+r"(x2)
                     :
                     : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
                       "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30",
                       "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",
                       "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",
                       "v25", "v26", "v27", "v28", "v29", "v30", "v31" TN_CLOBBER_SVE);
    return x2;
}

enum { TN_FRAME_FP, TN_FRAME_PC, TN_FRAME_FPCR, TN_FRAME_NONE, TN_FRAME_ENTRY, TN_FRAME_NONE_EITHER, TN_FRAME };

void tn_context_begin(void);

static inline void *tn_context_make(void *top, size_t bytes, void (*entry)(void *arg))
{
    (void)bytes;
    uintptr_t *frame = (uintptr_t *)((uintptr_t)top & ~(uintptr_t)15) - TN_FRAME;
    frame[TN_FRAME_FP] = 0;
    frame[TN_FRAME_PC] = (uintptr_t)tn_context_begin;
    frame[TN_FRAME_FPCR] = 0; /* what the ABI gives a new process */
    frame[TN_FRAME_ENTRY] = (uintptr_t)entry;
    return frame;
}

#endif
