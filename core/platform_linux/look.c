/* SPDX-License-Identifier: MIT
 *
 * The Linux platform: stopping threads to look at them, SIGQUIT, the number of threads. All but tn_on_quit is
 * async-signal-safe.
 */
#define _GNU_SOURCE
#include "../platform.h"
#include "../stopping.h"
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* Without a descriptor, which the program may have used up: the directory of the threads has a link for each, beside its
 * own two. A first thread that has ended by pthread_exit is among them until the last one has; its working directory is not
 * there any more. */
unsigned tn_thread_count(void)
{
    static const char format[] = "/proc/self/task/%u/cwd";
    struct stat task;
    char path[sizeof format + 10], to[1];
    if (stat("/proc/self/task", &task) != 0 || task.st_nlink < 3)
        return 0;
    snprintf(path, sizeof path, format, (unsigned)getpid());
    bool first = readlink(path, to, sizeof to) >= 0 || errno != ENOENT;
    return (unsigned)task.st_nlink - 2 - !first;
}

int tn_write_raw(int fd, const void *text, size_t n)
{
    const char *at = text;
    while (n > 0) {
        ssize_t k = write(fd, at, n);
        if (k < 0 && errno != EINTR)
            return errno;
        if (k > 0) {
            at += k;
            n -= (size_t)k;
        }
    }
    return 0;
}

static struct tn_where where_of(const void *context)
{
    const ucontext_t *u = context;
#if defined(__x86_64__)
    return (struct tn_where){(uintptr_t)u->uc_mcontext.gregs[REG_RIP], (uintptr_t)u->uc_mcontext.gregs[REG_RSP],
                             (uintptr_t)u->uc_mcontext.gregs[REG_RBP]};
#elif defined(__aarch64__)
    return (struct tn_where){u->uc_mcontext.pc, u->uc_mcontext.sp, u->uc_mcontext.regs[29]};
#else
    (void)u;
    return (struct tn_where){0, 0, 0};
#endif
}

/* ---- stopping: a signal whose handler waits ---- */

/* SIGURG, since by default it does nothing: one that arrives too late does no harm. */
enum { STOP_SIGNAL = SIGURG };

static struct tn_stopping stopping;
static struct sigaction before_stop;

static void stop_here(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    int kept = errno;
    tn_stopping_answer(&stopping, tn_thread_number(), where_of(context));
    errno = kept;
}

/* In parts, of which each is waited for anew: where the whole process, or the machine, stood still meanwhile, all but one of
 * them are still to come, and whoever was kept from answering by that still does. */
static void wait_patiently(struct tn_stopped *list, tn_time patience)
{
    enum { PARTS = 8 };
    unsigned parts = 0;
    for (struct tn_stopped *s = list; s != NULL; s = s->next)
        while (parts < PARTS &&
               atomic_load_explicit(&s->state, memory_order_relaxed) == TN_STOP_ASKED) /* relaxed: ST0 comes behind */
            parts += tn_park(&s->state, TN_STOP_ASKED, tn_now() + patience / PARTS) == ETIMEDOUT;
}

void tn_threads_stop(struct tn_stopped *list, tn_time patience)
{
    struct sigaction stop = {.sa_sigaction = stop_here, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&stop.sa_mask);
    tn_stopping_ask(&stopping, list);
    sigaction(STOP_SIGNAL, &stop, &before_stop);
    for (struct tn_stopped *s = list; s != NULL; s = s->next)
        if (syscall(SYS_tgkill, getpid(), s->thread, STOP_SIGNAL) != 0)
            atomic_store_explicit(&s->state, TN_STOP_NO, memory_order_relaxed); /* relaxed: it is not there */
    wait_patiently(list, patience);
    tn_stopping_await(list, tn_now());
}

void tn_threads_go(struct tn_stopped *list)
{
    tn_stopping_over(&stopping, list);
    sigaction(STOP_SIGNAL, &before_stop, NULL);
}

/* The parent may have stopped threads when it forked: they are not here, and would be waited for. */
void tn_child_look(void)
{
    struct sigaction now;
    atomic_store_explicit(&stopping.list, NULL, memory_order_relaxed); /* relaxed, both: there is no other thread */
    atomic_store_explicit(&stopping.inside, 0, memory_order_relaxed);
    if (sigaction(STOP_SIGNAL, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == stop_here)
        sigaction(STOP_SIGNAL, &before_stop, NULL);
}

/* ---- SIGQUIT ---- */

static void (*quit_fn)(const struct tn_where *here);
static bool quit_taken;

static void quit_here(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    int kept = errno;
    struct tn_where here = where_of(context);
    quit_fn(&here);
    errno = kept;
}

bool tn_on_quit(void (*fn)(const struct tn_where *here))
{
    struct sigaction now, mine = {.sa_sigaction = quit_here, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigemptyset(&mine.sa_mask);
    if (sigaction(SIGQUIT, NULL, &now) != 0)
        return false;
    bool ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == quit_here; /* from before a fork */
    if (!ours && ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL))
        return false;
    quit_fn = fn;
    quit_taken = sigaction(SIGQUIT, &mine, NULL) == 0;
    return quit_taken;
}

void tn_off_quit(void)
{
    struct sigaction now, none = {.sa_handler = SIG_DFL};
    if (quit_taken && sigaction(SIGQUIT, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
        now.sa_sigaction == quit_here) /* else the program has set its own meanwhile */
        sigaction(SIGQUIT, &none, NULL);
    quit_taken = false;
}

void tn_quit(void)
{
    struct sigaction none = {.sa_handler = SIG_DFL};
    sigaction(SIGQUIT, &none, NULL);
    raise(SIGQUIT);
}
