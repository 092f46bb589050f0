/* SPDX-License-Identifier: MIT
 *
 * Context switch for x86-64 (System V ABI). Moves registers, nothing else (004 §3.3.1: ucontext pays a system
 * call for the signal mask; row H6 measures it).
 *
 * A suspended context is its stack pointer, which points to
 *
 *      0  MXCSR (4 bytes), x87 control word (2 bytes)
 *      8  r15   16 r14   24 r13   32 r12   40 rbx   48 rbp   56 return address
 *
 * The ABI calls the control bits of MXCSR and of the x87 unit callee-saved, so they are kept. Saving is cheap;
 * loading is not, and nearly always the two sides agree: they are compared and loaded only where they differ.
 *
 * The last step is a jump, not a ret: the processor's return predictor would expect the return of another
 * stack's call (14.5 ns against 3 to 6 in a trial). Shadow stacks would refuse to return there later, so this
 * object does not carry the SHSTK mark; the linker then leaves it off the whole program, and nobody is led to
 * believe that it is protected.
 */
    .text
    .globl  tn_context_switch
    .type   tn_context_switch, @function
    .hidden tn_context_switch
    .p2align 5
tn_context_switch:
    .cfi_startproc
    endbr64
    pushq   %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    pushq   %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    pushq   %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    pushq   %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r13, 0
    pushq   %r14
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r14, 0
    pushq   %r15
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r15, 0
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    stmxcsr (%rsp)
    fnstcw  4(%rsp)
    movl    (%rsp), %eax
    movzwl  4(%rsp), %ecx
    movq    %rsp, (%rdi)
    movq    %rsi, %rsp          /* from here on the other stack, of the same layout */
    cmpl    (%rsp), %eax
    jne     1f
    cmpw    4(%rsp), %cx
    jne     1f
2:  movq    %rdx, %rax
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq    %r15
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r15
    popq    %r14
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r14
    popq    %r13
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r13
    popq    %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r12
    popq    %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    popq    %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbp
    popq    %rcx
    .cfi_adjust_cfa_offset -8
    .cfi_register %rip, %rcx
    notrack jmp *%rcx
    .cfi_endproc
    .cfi_startproc
    .cfi_def_cfa %rsp, 64
    .cfi_offset %rbp, -16
    .cfi_offset %rbx, -24
    .cfi_offset %r12, -32
    .cfi_offset %r13, -40
    .cfi_offset %r14, -48
    .cfi_offset %r15, -56
1:  ldmxcsr (%rsp)
    fldcw   4(%rsp)
    jmp     2b
    .cfi_endproc
    .size   tn_context_switch, . - tn_context_switch

/* Where a new context begins: rbx = entry, rax = arg of the switch. The undefined return address and the zero
 * frame pointer end every back-trace here. */
    .globl  tn_context_begin
    .type   tn_context_begin, @function
    .hidden tn_context_begin
    .p2align 4
tn_context_begin:
    .cfi_startproc
    .cfi_undefined %rip
    endbr64
    movq    %rax, %rdi
    call    *%rbx
    ud2
    .cfi_endproc
    .size   tn_context_begin, . - tn_context_begin

/* IBT yes, SHSTK no: see above. */
    .section .note.gnu.property, "a", @note
    .p2align 3
    .long   4, 16, 5
    .asciz  "GNU"
    .long   0xc0000002, 4, 1, 0

    .section .note.GNU-stack, "", @progbits
