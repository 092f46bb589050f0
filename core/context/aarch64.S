/* SPDX-License-Identifier: MIT
 *
 * Where a new context begins (see aarch64.h): x2 = arg of the switch, on the stack: the entry, which never returns.
 * Its return address is 0 and so is the frame pointer: every back-trace ends there.
 */
    .text
    .globl  tn_context_begin
    .type   tn_context_begin, %function
    .hidden tn_context_begin
    .p2align 4
tn_context_begin:
    .cfi_startproc
    .cfi_undefined x30
    hint    #38             /* bti jc */
    ldr     x16, [sp], #16
    mov     x0, x2
    mov     x30, #0
    br      x16             /* not a call: the return predictor would keep an entry that no ret ever takes */
    .cfi_endproc
    .size   tn_context_begin, . - tn_context_begin

/* BTI yes, PAC no: see aarch64.h. */
    .section .note.gnu.property, "a", %note
    .p2align 3
    .long   4, 16, 5
    .asciz  "GNU"
    .long   0xc0000000, 4, 1, 0

    .section .note.GNU-stack, "", %progbits
