/* SPDX-License-Identifier: MIT
 *
 * Contexts on POSIX ucontext: portable, and a system call a switch for the signal mask (004 §3.3.1, row H6).
 */
#define _GNU_SOURCE
#include "../platform.h"

#include <stdlib.h>
#include <ucontext.h>

const char tn_context_name[] = "ucontext";

struct context {
    ucontext_t u;
    void *arg; /* of the switch that resumes it */
    void (*entry)(void *arg);
};

static void begin(unsigned high, unsigned low)
{
    /* makecontext passes ints only: a pointer in two halves. */
    struct context *c = (struct context *)(uintptr_t)((uint64_t)high << 32 | low);
    c->entry(c->arg);
    abort();
}

/* Alone in a function, because getcontext may seem to return twice. */
static __attribute__((noinline)) void initialise(ucontext_t *u)
{
    getcontext(u); /* fails only for a bad address */
}

void *tn_context_make(void *top, size_t bytes, void (*entry)(void *arg))
{
    uintptr_t at = ((uintptr_t)top - sizeof(struct context)) & ~(uintptr_t)63;
    struct context *c = (struct context *)at;
    initialise(&c->u);
    size_t above = (size_t)((uintptr_t)top - at);
    c->u.uc_stack.ss_sp = (char *)top - bytes;
    c->u.uc_stack.ss_size = bytes - above;
    c->u.uc_link = NULL;
    c->entry = entry;
    makecontext(&c->u, (void (*)(void))begin, 2, (unsigned)((uint64_t)at >> 32), (unsigned)at);
    return c;
}

void *tn_context_switch(void **from, void *to, void *arg)
{
    struct context self, *other = to;
    *from = &self;
    other->arg = arg;
    swapcontext(&self.u, &other->u);
    return self.arg;
}

#if defined(__x86_64__)
#define AT(reg) (int32_t)(offsetof(struct context, u.uc_mcontext.gregs) + (reg) * sizeof(greg_t))
TN_FOR_DEBUGGERS const struct tn_context_layout tn_context_layout = {
    .pc = AT(REG_RIP), .fp = AT(REG_RBP), .sp = AT(REG_RSP)};
#elif defined(__aarch64__)
#define AT(field) (int32_t) offsetof(struct context, u.uc_mcontext.field)
TN_FOR_DEBUGGERS const struct tn_context_layout tn_context_layout = {.pc = AT(pc), .fp = AT(regs[29]), .sp = AT(sp)};
#else
TN_FOR_DEBUGGERS const struct tn_context_layout tn_context_layout = {.pc = -1};
#endif
