/* SPDX-License-Identifier: MIT
 *
 * The Linux platform: stopping threads to look at them, SIGQUIT, the number of threads. All but tn_on_quit is
 * async-signal-safe.
 */
#define _GNU_SOURCE
#include "../platform.h"
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

int tn_write(int fd, const void *text, size_t n)
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

static _Atomic(struct tn_stopped *) stopping;
static _Atomic(unsigned) inside; /* handlers that may hold what they have read there */
static struct sigaction before_stop;

static void stop_here(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    int kept = errno;
    uint32_t self = tn_thread_number();
    /* ST2 seq_cst, both: either the list is gone, or who takes it away sees us */
    atomic_fetch_add_explicit(&inside, 1, memory_order_seq_cst);
    /* ST2; ST1 acquire: the list */
    struct tn_stopped *s = atomic_load_explicit(&stopping, memory_order_seq_cst);
    while (s != NULL && s->thread != self)
        s = s->next;
    if (s != NULL) {
        uint32_t asked = TN_STOP_ASKED;
        s->where = where_of(context);
        /* ST0 release: where; acquire: nothing, failed is too late */
        if (atomic_compare_exchange_strong_explicit(&s->state, &asked, TN_STOPPED, memory_order_release,
                                                    memory_order_relaxed)) {
            tn_unpark(&s->state, 1);
            while (atomic_load_explicit(&s->state, memory_order_relaxed) == TN_STOPPED) /* relaxed: it only goes on */
                tn_park(&s->state, TN_STOPPED, UINT64_MAX);
        }
    }
    atomic_fetch_sub_explicit(&inside, 1, memory_order_release); /* ST2 release: our last look at the list */
    errno = kept;
}

void tn_threads_stop(struct tn_stopped *list, tn_time patience)
{
    struct sigaction stop = {.sa_sigaction = stop_here, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&stop.sa_mask);
    for (struct tn_stopped *s = list; s != NULL; s = s->next)
        atomic_store_explicit(&s->state, TN_STOP_ASKED, memory_order_relaxed); /* relaxed: ST1 publishes it */
    atomic_store_explicit(&stopping, list, memory_order_release);              /* ST1 release */
    sigaction(STOP_SIGNAL, &stop, &before_stop);
    for (struct tn_stopped *s = list; s != NULL; s = s->next)
        if (syscall(SYS_tgkill, getpid(), s->thread, STOP_SIGNAL) != 0)
            atomic_store_explicit(&s->state, TN_STOP_NO, memory_order_relaxed); /* relaxed: it is not there */
    tn_time until = tn_now() + patience;
    for (struct tn_stopped *s = list; s != NULL; s = s->next) {
        uint32_t asked;
        while ((asked = atomic_load_explicit(&s->state, memory_order_acquire)) == TN_STOP_ASKED && /* ST0 acquire */
               tn_now() < until)
            tn_park(&s->state, TN_STOP_ASKED, until);
        if (asked == TN_STOP_ASKED) /* ST0 acquire: it may stop at the last moment */
            atomic_compare_exchange_strong_explicit(&s->state, &asked, TN_STOP_NO, memory_order_acquire,
                                                    memory_order_acquire);
    }
}

void tn_threads_go(struct tn_stopped *list)
{
    atomic_store_explicit(&stopping, NULL, memory_order_seq_cst); /* ST2 */
    for (struct tn_stopped *s = list; s != NULL;) {
        struct tn_stopped *next = s->next;
        atomic_store_explicit(&s->state, TN_STOP_NO, memory_order_relaxed); /* relaxed: it reads nothing of ours */
        tn_unpark(&s->state, 1);
        s = next;
    }
    /* Until nobody walks the list, which the next dump changes and whose runtimes may end. ST2 seq_cst */
    for (unsigned spins = 0; atomic_load_explicit(&inside, memory_order_seq_cst) != 0;)
        tn_spin_wait(&spins);
    sigaction(STOP_SIGNAL, &before_stop, NULL);
}

/* The parent may have stopped threads when it forked: they are not here, and would be waited for. */
void tn_child_look(void)
{
    struct sigaction now;
    atomic_store_explicit(&stopping, NULL, memory_order_relaxed); /* relaxed, both: there is no other thread */
    atomic_store_explicit(&inside, 0, memory_order_relaxed);
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
