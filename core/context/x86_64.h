/* SPDX-License-Identifier: MIT
 *
 * Context switch for x86-64 (System V ABI). Moves registers, nothing else (004 §3.3.1: ucontext pays a system
 * call for the signal mask; row H6 measures it).
 *
 * A suspended context is its stack pointer, which points to
 *
 *      0  MXCSR (4 bytes), x87 control word (2 bytes)      8  rbp      16  address to resume at
 *
 * - Inline, not a function: a call without its ret would put the processor's return predictor out of step, and the
 *   next ret (of tn_yield, for one) would pay for it. For the same reason it ends in a jump. The other callee-saved
 *   registers are clobbers: the compiler saves those that it uses, in the function that switches.
 * - The ABI calls the control bits of MXCSR and of the x87 unit callee-saved, so they are kept: 2.5 ns of a switch.
 *   Loading them always is cheaper than asking whether they differ, which waits for the store before.
 * - rbp is kept by hand, since it may be a frame pointer. The functions that switch are compiled with one, so the
 *   unwind tables find the frame from rbp, and gdb unwinds a parked fibre from the three words above.
 * - No red zone: this pushes (core/meson.build).
 * - Shadow stacks: a jump to another stack would be refused at the first ret there. The object with
 *   tn_context_begin does not carry the SHSTK mark, so the linker leaves it off the whole program, and nobody is led
 *   to believe that it is protected.
 */
#ifndef TN_CONTEXT_X86_64_H
#define TN_CONTEXT_X86_64_H

#if defined(__AVX512F__)
#define TN_CLOBBER_AVX512                                                                                         \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", \
        "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define TN_CLOBBER_AVX512
#endif

/* An indirect branch may only land on this, where the processor checks. */
#if defined(__CET__) && (__CET__ & 1)
#define TN_LANDING "endbr64\n\t"
#else
#define TN_LANDING ""
#endif

static inline __attribute__((always_inline)) void *tn_context_switch(void **from, void *to, void *arg)
{
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                     "pushq %%rax\n\t"
                     "pushq %%rbp\n\t"
                     "subq $8, %%rsp\n\t"
                     "stmxcsr (%%rsp)\n\t"
                     "fnstcw 4(%%rsp)\n\t"
                     "movq %%rsp, (%%rdi)\n\t"
                     "movq %%rsi, %%rsp\n\t" /* from here on the other stack, of the same layout */
                     "ldmxcsr (%%rsp)\n\t"
                     "fldcw 4(%%rsp)\n\t"
                     "movq 8(%%rsp), %%rbp\n\t"
                     "movq 16(%%rsp), %%rcx\n\t"
                     "addq $24, %%rsp\n\t"
                     "jmp *%%rcx\n\t"
                     "1:\n\t" TN_LANDING
                     : "+D"(from), "+S"(to), "+d"(arg)
                     :
                     : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory",
                       "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)",
                       "st(6)", "st(7)" TN_CLOBBER_AVX512);
    return arg;
}

/* CALLER: a caller's rbp, and a return address, both 0. A thread that is stopped in the middle of a switch (dump.c) unwinds
 * from the rbp that has just been loaded, which must lead somewhere. */
enum { TN_FRAME_FPU, TN_FRAME_RBP, TN_FRAME_RIP, TN_FRAME_ENTRY, TN_FRAME_CALLER, TN_FRAME = TN_FRAME_CALLER + 2 };

void tn_context_begin(void);

static inline void *tn_context_make(void *top, size_t bytes, void (*entry)(void *arg))
{
    (void)bytes;
    /* tn_context_begin leaves one word, the entry's return address; then rsp + 8 is 16-aligned, as after a call. */
    uintptr_t *frame = (uintptr_t *)((uintptr_t)top & ~(uintptr_t)15) - TN_FRAME;
    frame[TN_FRAME_FPU] = UINT64_C(0x037f00001f80); /* what the ABI gives a new process */
    frame[TN_FRAME_RBP] = (uintptr_t)&frame[TN_FRAME_CALLER];
    frame[TN_FRAME_RIP] = (uintptr_t)tn_context_begin;
    frame[TN_FRAME_ENTRY] = (uintptr_t)entry;
    frame[TN_FRAME_CALLER] = frame[TN_FRAME_CALLER + 1] = 0;
    return frame;
}

#endif
