/* SPDX-License-Identifier: MIT */
/*
 * How instrumented code enters the runtime: each atomic operation saves the callee-saved registers on the stack of its
 * virtual thread and goes on in in_engine() on the engine's stack, with its arguments; the engine names the thread that
 * goes on (in_cur), which may be another one.  So a switch costs what an entry costs, and the bytes from a suspended
 * thread's stack pointer to its stack's top are all of its state: registers, return addresses, live locals.
 */
#include "ops.h"

    .text

in_enter:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    push %r12
    .cfi_adjust_cfa_offset 8
    push %r13
    .cfi_adjust_cfa_offset 8
    push %r14
    .cfi_adjust_cfa_offset 8
    push %r15
    .cfi_adjust_cfa_offset 8
    mov %eax, in_code(%rip)
    mov in_cur(%rip), %rbx
    mov %rsp, (%rbx)
    mov in_engine_sp(%rip), %rsp
    call in_engine
in_resume:
    mov in_cur(%rip), %rbx
    mov (%rbx), %rsp
    mov 8(%rbx), %rax
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
    .cfi_endproc

/* uint64_t in_op(a0, a1, a2, a3, a4, code): for the C functions of the runtime. */
    .globl in_op
    .type in_op, @function
in_op:
    mov %r9d, %eax
    jmp in_enter
    .size in_op, .-in_op

/* void in_launch(void): from the process's own stack to the thread in in_cur; returns when in_cur is &in_boot. */
    .globl in_launch
    .type in_launch, @function
in_launch:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, in_boot(%rip)
    jmp in_resume
    .size in_launch, .-in_launch

/* void in_leave(void): give up whatever is under way, and go back to in_launch's caller. */
    .globl in_leave
    .type in_leave, @function
in_leave:
    jmp in_resume
    .size in_leave, .-in_leave

/* Where a new thread begins. */
    .globl in_trampoline
    .type in_trampoline, @function
in_trampoline:
    .cfi_startproc
    .cfi_undefined rip
    xor %ebp, %ebp
    call in_thread_main
    ud2
    .cfi_endproc
    .size in_trampoline, .-in_trampoline

#define ENTRY(name, op, log)    \
    .globl name;                \
    .type name, @function;      \
    name: mov $(op * 8 + log), %eax; \
    jmp in_enter;               \
    .size name, .-name

#define ENTRIES(verb, op)                     \
    ENTRY(__tsan_atomic8_##verb, op, 0);      \
    ENTRY(__tsan_atomic16_##verb, op, 1);     \
    ENTRY(__tsan_atomic32_##verb, op, 2);     \
    ENTRY(__tsan_atomic64_##verb, op, 3)

ENTRIES(load, OP_LOAD)
ENTRIES(store, OP_STORE)
ENTRIES(exchange, OP_XCHG)
ENTRIES(fetch_add, OP_ADD)
ENTRIES(fetch_sub, OP_SUB)
ENTRIES(fetch_and, OP_AND)
ENTRIES(fetch_or, OP_OR)
ENTRIES(fetch_xor, OP_XOR)
ENTRIES(fetch_nand, OP_NAND)
ENTRIES(compare_exchange_strong, OP_CAS)
ENTRIES(compare_exchange_weak, OP_CAS_WEAK)
ENTRIES(compare_exchange_val, OP_CAS_VAL)
ENTRY(__tsan_atomic_thread_fence, OP_FENCE, 0)

/* These say nothing that the runtimes need. */
#define NOTHING(name)      \
    .globl name;           \
    .type name, @function; \
    name: ret;             \
    .size name, .-name

NOTHING(__tsan_func_entry)
NOTHING(__tsan_func_exit)
NOTHING(__tsan_init)
NOTHING(__tsan_atomic_signal_fence)

    .section .note.GNU-stack, "", @progbits
