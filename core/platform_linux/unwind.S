/* SPDX-License-Identifier: MIT
 *
 * unwind_from(fn, arg, where) calls the unwinder, and tells it by its own unwind information that its caller is not its
 * caller but the context `where` (kept in rbx): the CFA is where->sp, the return address and rbp are saved in *where.
 * For x86-64 only.
 */
    .text
    .globl  unwind_from
    .type   unwind_from, @function
    .hidden unwind_from
    .p2align 4
unwind_from:
    .cfi_startproc
    .cfi_signal_frame                   /* its "return address" is where it is, not behind a call */
    pushq   %rbx
    movq    %rdx, %rbx
    .cfi_escape 0x0f, 3, 0x73, 8, 0x06  /* CFA = *(rbx + 8) */
    .cfi_escape 0x10, 16, 2, 0x73, 0    /* rip is at rbx */
    .cfi_escape 0x10, 6, 2, 0x73, 16    /* rbp is at rbx + 16 */
    call    _Unwind_Backtrace@PLT
    popq    %rbx
    ret
    .cfi_endproc
    .size   unwind_from, . - unwind_from

/* IBT and SHSTK: no indirect branch ends here, and it returns to its caller. */
    .section .note.gnu.property, "a", @note
    .p2align 3
    .long   4, 16, 5
    .asciz  "GNU"
    .long   0xc0000002, 4, 3, 0

    .section .note.GNU-stack, "", @progbits
