/* SPDX-License-Identifier: MIT
 *
 * The Linux platform: a timer that interrupts one thread, and whose code an address is.
 */
#define _GNU_SOURCE
#include "../platform.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* By what it stands for, a timer of what a process computes; few programs use it. */
enum { TICK_SIGNAL = SIGVTALRM };

/* ---- whose code ---- */

/* Of what is executable in a file that was loaded. It does not change, and is looked at in signal handlers. */
struct code {
    uintptr_t low, high;
};
static struct code program, runtime;
static pthread_once_t code_once = PTHREAD_ONCE_INIT;

static int note_code(struct dl_phdr_info *info, size_t size, void *first)
{
    struct code here = {UINTPTR_MAX, 0};
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
            continue;
        here.low = low < here.low ? low : here.low;
        here.high = low + part->p_memsz > here.high ? low + part->p_memsz : here.high;
    }
    if (*(bool *)first) /* as dl_iterate_phdr promises */
        program = here;
    *(bool *)first = false;
    uintptr_t mine = (uintptr_t)note_code;
    if (mine >= here.low && mine < here.high)
        runtime = here;
    return 0;
}

static void find_code(void)
{
    bool first = true;
    dl_iterate_phdr(note_code, &first);
}

bool tn_code_of_program(uintptr_t pc)
{
    return pc >= program.low && pc < program.high;
}

bool tn_code_of_runtime(uintptr_t pc)
{
    return pc >= runtime.low && pc < runtime.high;
}

/* ---- ticks ---- */

static void (*ticked)(const struct tn_where *where);

static void on_tick(int number, siginfo_t *info, void *context)
{
    const ucontext_t *u = context;
    int kept = errno;
    (void)number, (void)info;
    struct tn_where where = {(uintptr_t)u->uc_mcontext.gregs[REG_RIP], (uintptr_t)u->uc_mcontext.gregs[REG_RSP],
                             (uintptr_t)u->uc_mcontext.gregs[REG_RBP]};
    ticked(&where);
    errno = kept; /* of this thread still: it goes on where it was stopped */
}

int tn_ticks_ready(void (*tick)(const struct tn_where *where))
{
    struct sigaction now, ours = {.sa_flags = SA_SIGINFO | SA_RESTART};
    pthread_once(&code_once, find_code);
    if (program.low == runtime.low) {
        tn_message(
            "tenter: preempt_us: the runtime is linked into the program, where its code cannot be told from the "
            "program's: link libtenter.so");
        return ENOTSUP;
    }
    sigaction(TICK_SIGNAL, NULL, &now);
    bool mine = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_tick;
    if (!mine && ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL)) {
        tn_message("tenter: preempt_us: the program has a handler for SIGVTALRM, which preemption needs");
        return EBUSY;
    }
    ticked = tick;
    sigemptyset(&ours.sa_mask);
    ours.sa_sigaction = on_tick;
    /* It stays: a tick may be on its way when the last timer is deleted. */
    return mine || sigaction(TICK_SIGNAL, &ours, NULL) == 0 ? 0 : errno;
}

size_t tn_ticks_room(void)
{
    enum { WORK = 12288 };
    size_t frame = getauxval(AT_MINSIGSTKSZ); /* with all vector registers that there are */
    return 2 * (frame != 0 ? frame : 4096) + WORK;
}

static struct timespec of_ns(tn_time ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

static void set_period(timer_t timer, tn_time period)
{
    timer_settime(timer, 0, &(struct itimerspec){of_ns(period), of_ns(period)}, NULL);
}

static void masked(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, TICK_SIGNAL);
    pthread_sigmask(how, &set, NULL);
}

int tn_ticks_begin(struct tn_ticks *t, tn_time period)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TICK_SIGNAL};
    timer_t timer;
    event._sigev_un._tid = gettid();
    /* Of time that passes: the clock of what a thread computes ticks as seldom as the kernel does. */
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        return errno;
    *t = (struct tn_ticks){.timer = timer, .period = period, .made = true};
    masked(SIG_UNBLOCK);
    set_period(timer, period);
    return 0;
}

void tn_ticks_end(struct tn_ticks *t)
{
    if (t->made)
        timer_delete(t->timer);
    t->made = false;
}

void tn_ticks_pause(struct tn_ticks *t)
{
    set_period(t->timer, 0);
    t->paused = true;
}

void tn_ticks_resume(struct tn_ticks *t)
{
    t->paused = false;
    set_period(t->timer, t->period);
}

void tn_ticks_soon(struct tn_ticks *t, tn_time wait)
{
    timer_settime(t->timer, 0, &(struct itimerspec){of_ns(t->period), of_ns(wait)}, NULL);
}

void tn_ticks_open(void)
{
    masked(SIG_UNBLOCK);
}
