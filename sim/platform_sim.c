/* SPDX-License-Identifier: MIT
 *
 * The platform of simulated programs (core/platform.h): threads, parking and time are the engine's, memory is the
 * arena's. What is about messages, symbols and faults is Linux's own, from core/platform_linux/.
 */
#define _GNU_SOURCE
#include "../core/platform.h"
#include "../core/scheduler.h"
#include "sim.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- threads ---- */

int tn_thread_create(struct tn_thread *t, void *(*fn)(void *), void *arg)
{
    struct sim_thread *made = sim_create(fn, arg);
    t->handle = (uintptr_t)made;
    if (made == NULL)
        tn_message("tenter: a simulated program has at most %d threads at a time", SIM_THREADS);
    return made != NULL ? 0 : EAGAIN;
}

void tn_thread_join(struct tn_thread *t)
{
    sim_join((struct sim_thread *)t->handle);
}

void tn_thread_here(struct tn_thread *t, void *(*fn)(void *), void *arg)
{
    t->handle = (uintptr_t)sim_me;
    fn(arg);
}

uint32_t tn_thread_number(void)
{
    return sim_me->id + 1;
}

bool tn_thread_sleeps(uint32_t number)
{
    (void)number; /* nothing in here blocks in the kernel: a thread that sleeps does so in tn_park */
    return false;
}

unsigned tn_thread_count(void)
{
    sim_drain();
    return sim_running();
}

unsigned tn_tool_threads(void)
{
    return 0;
}

unsigned tn_process(void)
{
    return 0;
}

void *tn_self(void)
{
    return sim_me->self;
}

void *tn_self_now(void)
{
    return sim_me->self;
}

void tn_self_set(void *self)
{
    sim_me->self = self;
    if (self != NULL)
        sim_worker(((const struct tn_worker *)self)->index); /* the first of what a worker is */
}

int *tn_errno_address(void)
{
    return &errno; /* the engine keeps its value for each thread */
}

struct tn_exceptions *tn_exceptions_address(void)
{
    return NULL;
}

void tn_thread_guard(void (*lost)(void))
{
    (void)lost; /* a simulated thread ends by return only */
}

unsigned tn_processors(void)
{
    return sim_processors;
}

int tn_pin(unsigned n)
{
    sim_pin(n);
    return 0;
}

/* The machine file's layers; two threads of a core are nearer than any. */
int tn_processor_distance(unsigned a, unsigned b)
{
    unsigned one = a % sim_processors, other = b % sim_processors;
    unsigned core = one % sim_machine.cores, beside = other % sim_machine.cores;
    return one == other ? 0 : core == beside ? 1 : 2 + sim_distance[core][beside];
}

/* Virtual threads are always stopped but the one that asks; yet where they are is on their stacks, of which only the
 * engine knows: a dump shows them without. */
void tn_threads_stop(struct tn_stopped *list, tn_time patience)
{
    (void)patience;
    for (; list != NULL; list = list->next)
        atomic_store_explicit(&list->state, TN_STOP_NO, memory_order_relaxed); /* relaxed: one thread of the system */
}

void tn_threads_go(struct tn_stopped *list)
{
    (void)list;
}

/* ---- a process that is stuck ---- */

bool tn_on_quit(void (*fn)(const struct tn_where *here))
{
    (void)fn; /* SIGQUIT ends a simulation: where the one thread of the system is tells nothing of the others */
    return false;
}

void tn_off_quit(void)
{
}

void tn_quit(void)
{
    raise(SIGQUIT);
}

int tn_write_raw(int fd, const void *text, size_t n)
{
    return write(fd, text, n) == (ssize_t)n ? 0 : EIO;
}

/* ---- parking ---- */

static uint64_t ps(tn_time ns)
{
    return ns > (UINT64_C(1) << 53) / SIM_PS ? SIM_NEVER : ns * SIM_PS;
}

/* The look and the sleep are one step: nobody acts between. */
int tn_park(_Atomic(uint32_t) *word, uint32_t expected, tn_time deadline)
{
    sim_kernel(sim_machine.park);
    sim_arrive();
    if (atomic_load_explicit(word, memory_order_relaxed) != expected) /* relaxed: one thread of the system */
        return 0;
    return sim_sleep(word, ps(deadline));
}

void tn_unpark(_Atomic(uint32_t) *word, unsigned n)
{
    sim_wake(word, n);
}

/* ---- time, spinning, work ---- */

tn_time tn_now(void)
{
    sim_charge(sim_machine.clock);
    return sim_now / SIM_PS;
}

/* Who waits for long looks after times that differ, as they do on a machine. Always after the same, it falls into step with who takes
 * and frees a lock all the time, since each look makes that one wait for the line, and so sets the step: it never gets the lock. */
void tn_spin_wait(unsigned *spins)
{
    enum { LONG = 256, VERY_LONG = 1 << 30 /* that is no wait, but a yield (yield_thread) */ };
    static uint64_t any; /* the same in each run */
    if (++*spins < 64) {
        sim_charge(sim_machine.pause);
        return;
    }
    sim_yield();
    if (*spins >= LONG && *spins < VERY_LONG) {
        any = any * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sim_charge((any >> 33) % (sim_machine.yield / 8 + 1));
    }
}

unsigned tn_spin_bound(unsigned n)
{
    return n;
}

double tn_work_calibrate(void)
{
    return 1; /* a nanosecond is one */
}

void tn_work(uint64_t ns)
{
    sim_charge(ns * SIM_PS);
}

uint64_t tn_entropy(void)
{
    static uint64_t any = UINT64_C(0x9e3779b97f4a7c15); /* the same in each run */
    sim_drain();
    return any += UINT64_C(0x632be59bd9b4e019);
}

/* ---- memory ---- */

void *tn_map(size_t bytes)
{
    sim_drain();
    return sim_map_named(bytes, __builtin_frame_address(0));
}

void tn_unmap(void *base, size_t bytes)
{
    sim_drain();
    sim_unmap(base, bytes);
}

size_t tn_page(void)
{
    return 4096;
}

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

/* By what the host has: for nothing in virtual time. Guards of the second kind are a mapping each, of which the host has few. */
int tn_guard(void *base, size_t stride, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *at = (char *)base + i * stride;
        if (madvise(at, tn_page(), MADV_GUARD_INSTALL) != 0 && mprotect(at, tn_page(), PROT_NONE) != 0)
            return ENOMEM;
    }
    return 0;
}

const char *tn_guard_name(void)
{
    return "the host's";
}

size_t tn_used_above(const char *from, const char *to)
{
    const uint64_t *word = (const uint64_t *)(const void *)from;
    while ((const char *)word < to && *word == 0)
        word++;
    return (size_t)(to - (const char *)word);
}

void tn_discard(void *base, size_t bytes)
{
    (void)madvise(base, bytes, MADV_DONTNEED);
}

/* ---- fences ---- */

void tn_fence_light(void)
{
}

void tn_fence_heavy(void)
{
    sim_kernel(sim_machine.heavy);
    sim_fence();
    sim_interrupt();
}
