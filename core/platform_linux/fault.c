/* SPDX-License-Identifier: MIT
 *
 * The Linux platform: being told of a memory fault before the process dies of it, or before the application's own
 * handler sees it.
 */
#define _GNU_SOURCE
#include "../platform.h"
#include "child.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static const int numbers[] = {SIGSEGV, SIGBUS};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;                   /* under the lock: runtimes */
static struct sigaction before[NUMBERS]; /* written under the lock while our handler is not installed */
static void (*teller)(uintptr_t address, uintptr_t sp);

static void on_fault(int number, siginfo_t *info, void *context);

static bool is_ours(const struct sigaction *now)
{
    return (now->sa_flags & SA_SIGINFO) != 0 && now->sa_sigaction == on_fault;
}

static uintptr_t stack_pointer(const ucontext_t *u)
{
#if defined(__x86_64__)
    return (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (uintptr_t)u->uc_mcontext.sp;
#else
    (void)u;
    return 0;
#endif
}

/* Tell, then do what would have been done without us. With the default that is to die: of the same signal, by executing
 * the same instruction again, so that a core file shows it. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    const struct sigaction *old = &before[number == SIGBUS];
    if (info->si_code > 0) /* by the processor, not by kill() */
        teller((uintptr_t)info->si_addr, stack_pointer(context));
    if ((old->sa_flags & SA_SIGINFO) != 0) {
        old->sa_sigaction(number, info, context);
    } else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
        old->sa_handler(number);
    } else {
        signal(number, SIG_DFL);
        if (info->si_code <= 0)
            raise(number); /* nothing would be executed again */
    }
}

void tn_fault_open(void (*tell)(uintptr_t address, uintptr_t sp))
{
    pthread_mutex_lock(&lock);
    if (users++ == 0) {
        teller = tell;
        for (size_t i = 0; i < NUMBERS; i++) {
            struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
            struct sigaction now;
            sigaction(numbers[i], NULL, &now);
            if (is_ours(&now)) /* in a child of fork, whose parent has installed it */
                continue;
            before[i] = now;
            ours.sa_mask = before[i].sa_mask; /* the application's handler runs as it asked to */
            ours.sa_flags |= before[i].sa_flags & (SA_NODEFER | SA_RESTART);
            ours.sa_sigaction = on_fault;
            sigaction(numbers[i], &ours, NULL);
        }
    }
    pthread_mutex_unlock(&lock);
}

void tn_fault_close(void)
{
    pthread_mutex_lock(&lock);
    if (--users == 0)
        for (size_t i = 0; i < NUMBERS; i++) {
            struct sigaction now;
            sigaction(numbers[i], NULL, &now);
            if (is_ours(&now)) /* else somebody came after us */
                sigaction(numbers[i], &before[i], NULL);
        }
    pthread_mutex_unlock(&lock);
}

/* Another thread of the parent may have had the lock. The handlers stay as they are. */
void tn_child_fault(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    users = 0;
}

/* ---- the stack that a handler runs on ---- */

static size_t signal_stack_bytes(void)
{
    long least = sysconf(_SC_MINSIGSTKSZ); /* what the kernel pushes: more with wide vector registers */
    return ((size_t)(least > 0 ? least : 4096) + 32768 + tn_page() - 1) / tn_page() * tn_page();
}

void *tn_fault_stack(void)
{
    stack_t now, ours = {.ss_size = signal_stack_bytes()};
    if (sigaltstack(NULL, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0)
        return NULL; /* the thread has one, a sanitizer's for instance */
    ours.ss_sp = tn_map(ours.ss_size);
    if (ours.ss_sp != NULL && sigaltstack(&ours, NULL) != 0) {
        tn_unmap(ours.ss_sp, ours.ss_size);
        ours.ss_sp = NULL;
    }
    return ours.ss_sp;
}

void tn_fault_stack_free(void *stack)
{
    stack_t now, none = {.ss_flags = SS_DISABLE};
    if (stack == NULL)
        return;
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == stack)
        sigaltstack(&none, NULL);
    tn_unmap(stack, signal_stack_bytes());
}
