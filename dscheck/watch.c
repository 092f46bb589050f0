/* SPDX-License-Identifier: MIT */
/*
 * A loop without any atomic access never comes back to the engine.  A timer of processor time, which stands still while
 * the process does, asks now and then whether a thread of the code under test has run all the while; such a thread is
 * taken out of its loop, and the loop is what was found.  And no process of the checker outlives the one that started it.
 */
#define _GNU_SOURCE
#include "watch.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum { PATIENCE = 1 }; /* seconds of processor time */

static uint64_t seen;

static void hangs(void)
{
    if (in_ahead) /* that value leads to something else than a wait */
        in_op(0, 0, 0, 0, 0, OP_STOP * 8);
    in_bug("unbounded loop",
           "a thread ran for %d s without an atomic operation (a plain variable that another one is to change? it "
           "may be read once)",
           PATIENCE);
}

void watch_divert(void *context, void (*to)(void))
{
    ucontext_t *u = context;
    uint64_t pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
    if (pc >= (uint64_t)in_object.text && pc < (uint64_t)in_object.text_end)
        in_cur->pc = pc + 1;
    u->uc_mcontext.gregs[REG_RSP] = (greg_t)((uint64_t)in_engine_sp - 4096 - 8);
    u->uc_mcontext.gregs[REG_RIP] = (greg_t)(uint64_t)to;
}

static void tick(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    char *sp = (char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
    bool runs = in_explored() && sp >= in_cur->low && sp < in_cur->high;
    if (runs && seen == run_entries)
        watch_divert(context, hangs);
    seen = run_entries;
}

void watch_start(void)
{
    static pid_t parent;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (parent != 0 && getppid() != parent)
        _exit(99); /* it has died already */
    parent = getpid();
    struct sigaction a = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART, .sa_sigaction = tick};
    sigaction(SIGVTALRM, &a, NULL);
    struct itimerval each = {{PATIENCE, 0}, {PATIENCE, 0}};
    setitimer(ITIMER_VIRTUAL, &each, NULL);
}
