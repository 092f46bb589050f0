/* SPDX-License-Identifier: MIT
 *
 * Threads and cores. All threads are contexts of one thread of the system; which one acts next is the root of a tree of
 * the smallest clocks (sim.h has the rule). A thread that sleeps with a deadline has its leaf too: when that is the
 * smallest, it is due.
 *
 * A thread runs while it occupies a core: the one it is pinned to, else the one it had, else the first that is free. If
 * there is none it waits, in the order of arrival; a core is taken from a thread that has had it for a slice. Who is woken
 * and finds none waits where its waker runs, and takes that core from whoever has had it for the granularity.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_BITS = 10, STACK = 1 << 20 };
_Static_assert(SIM_THREADS == 1 << ID_BITS, "a key holds a thread's number");

struct sim_thread *sim_me;
struct sim_core sim_cores[SIM_CORES], *sim_here = &sim_cores[0];
uint32_t sim_core_number;
uint64_t sim_now = SIM_START_NS * SIM_PS, sim_limit, sim_insns, sim_price;
struct sim_note *sim_notes;
uint32_t sim_noted;

static struct sim_thread threads[SIM_THREADS];
static void
    *contexts[SIM_THREADS]; /* the stack of each, while it does not run; close together, to be fetched ahead */
static int *error_at;       /* errno of the one thread of the system */
static uint32_t made;
static struct sim_thread *on_core[SIM_CORES];
static struct sim_thread *waiting[SIM_THREADS]; /* for a core, in the order of arrival */
static uint32_t n_waiting;

/* ---- the tree: a node is the smallest of its four children, a leaf a thread's key; that of the thread that runs is from
 * before its turn ---- */

static uint64_t tree[2 * SIM_THREADS];
static uint32_t leaves = 1;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t siblings(uint32_t i)
{
    return least(least(tree[i ^ 1], tree[i ^ 2]), tree[i ^ 3]);
}

/* All the way up, whether or not it changes something: where to stop cannot be predicted. */
static void put(const struct sim_thread *t, uint64_t clock)
{
    uint32_t i = leaves + t->id;
    uint64_t key = tree[i] = clock != SIM_NEVER ? clock << ID_BITS | t->id : SIM_NEVER;
    for (; i > 1; i /= 4)
        tree[i / 4] = key = least(key, siblings(i));
}

static void grow(uint32_t number)
{
    if (number < leaves)
        return;
    uint64_t old[SIM_THREADS];
    uint32_t before = leaves;
    memcpy(old, tree + leaves, before * sizeof *old);
    leaves *= 4;
    for (uint32_t i = 0; i < 2 * leaves; i++)
        tree[i] = SIM_NEVER;
    for (uint32_t i = 0; i < before; i++)
        put(&threads[i], old[i] != SIM_NEVER ? old[i] >> ID_BITS : SIM_NEVER);
}

/* Who waits for a core, the first one, or the first that has been woken there; n_waiting: nobody. */
static uint32_t first_waiting(uint32_t core, bool woken)
{
    uint32_t i = 0;
    for (; i < n_waiting; i++) {
        const struct sim_thread *t = waiting[i];
        if (woken ? t->woken && t->core == core : t->pinned == SIM_NOWHERE || t->pinned == core)
            break;
    }
    return i;
}

/* For how long a thread may have a core, since others wait for it. */
static uint64_t patience(uint32_t core)
{
    uint64_t most = first_waiting(core, false) != n_waiting ? sim_machine.slice : SIM_NEVER;
    return first_waiting(core, true) != n_waiting ? least(most, sim_machine.granularity) : most;
}

/* How far the thread that runs may go: to the smallest key of the others, and while one waits for its core as long as that
 * one is patient. */
static uint64_t limit(void)
{
    uint64_t most = n_waiting != 0 ? patience(sim_me->core) : SIM_NEVER, key = SIM_NEVER;
    most = most != SIM_NEVER ? sim_me->since + most : SIM_NEVER;
    for (uint32_t i = leaves + sim_me->id; i > 1; i /= 4)
        key = least(key, siblings(i));
    if (key == SIM_NEVER)
        return most;
    uint64_t clock = key >> ID_BITS;
    clock = (key & (SIM_THREADS - 1)) < sim_me->id ? clock - 1 : clock;
    return least(clock, most);
}

/* ---- cores ---- */

static bool core_fits(const struct sim_thread *t, uint32_t core)
{
    return on_core[core] == NULL && (t->pinned == SIM_NOWHERE || t->pinned == core);
}

/* From `at` on, or when a core is free. */
static void get_core(struct sim_thread *t, uint64_t at)
{
    uint32_t core = t->pinned != SIM_NOWHERE ? t->pinned : t->core;
    t->clock = at;
    if (core == SIM_NOWHERE || !core_fits(t, core))
        for (core = 0; core < sim_processors && !core_fits(t, core); core++)
            ;
    if (core >= sim_processors) {
        t->state = SIM_WAITS;
        waiting[n_waiting++] = t;
        put(t, SIM_NEVER);
        return;
    }
    on_core[core] = t;
    t->woken = false;
    t->core = core;
    t->state = SIM_RUNS;
    t->since = t->clock;
    sim_on_core(t);
    put(t, t->clock);
}

/* From its waking on: where no core is free it waits for `core`, or for its own. */
static void get_core_woken(struct sim_thread *t, uint64_t at, uint32_t core)
{
    get_core(t, at);
    t->woken = t->state == SIM_WAITS;
    if (t->woken)
        t->core = t->pinned != SIM_NOWHERE ? t->pinned : core;
}

/* The thread has left its core at its clock: to whoever has been woken there and takes it away, or to whoever waits for
 * that one longest. */
static void free_core(struct sim_thread *t, bool taken)
{
    uint32_t core = t->core;
    on_core[core] = NULL;
    sim_cores[core].busy += t->clock - t->since;
    sim_off_core(t);
    uint32_t i = taken ? first_waiting(core, true) : n_waiting;
    i = i != n_waiting ? i : first_waiting(core, false);
    if (i == n_waiting)
        return;
    struct sim_thread *next = waiting[i];
    memmove(&waiting[i], &waiting[i + 1], (--n_waiting - i) * sizeof *waiting);
    next->core = core;
    get_core(next, (next->clock > t->clock ? next->clock : t->clock) + sim_machine.yield);
}

/* All others that have a core have come at least as far as who asks. */
uint64_t sim_used(void)
{
    uint64_t used = 0;
    for (uint32_t i = 0; i < sim_processors; i++) {
        used += sim_cores[i].busy;
        if (on_core[i] != NULL && sim_now > on_core[i]->since)
            used += sim_now - on_core[i]->since;
    }
    return used;
}

/* ---- switching ---- */

/* As core/context/x86_64.h, without the control words of the floating point unit: they are a fifth of it, and a program's
 * threads have them in common here. */
static inline __attribute__((always_inline)) void switch_stacks(void **from, void *to)
{
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                     "pushq %%rax\n\t"
                     "pushq %%rbp\n\t"
                     "movq %%rsp, (%%rdi)\n\t"
                     "movq %%rsi, %%rsp\n\t"
                     "popq %%rbp\n\t"
                     "popq %%rax\n\t"
                     "jmp *%%rax\n\t"
                     "1:\n\t"
                     : "+D"(from), "+S"(to)
                     :
                     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc",
                       "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

static struct sim_note notes[SIM_THREADS][SIM_NOTES];

/* The thread acts: as itself, or what it has noted. */
static void act(struct sim_thread *t)
{
    sim_me = t;
    uint32_t n = sim_machine.cores, core = t->core;
    if (__builtin_expect(sim_processors == n, 1)) {
        sim_core_number = core;
    } else { /* two threads of a core have its lines in common, and its units */
        sim_core_number = core < n ? core : core - n;
        sim_price = on_core[core < n ? core + n : core - n] != NULL ? sim_machine.smt : sim_machine.instruction;
    }
    sim_here = &sim_cores[core];
    sim_now = t->clock;
}

/* What the thread has noted first, or goes on with, and the instructions behind it. */
static void charge(struct sim_thread *t)
{
    const struct sim_note *n = &notes[t->id][t->charged];
    if (t->there != 0 || !sim_hit(&sim_lines[sim_noted_at(n) / SIM_LINE], sim_noted_how(n)))
        if (!sim_miss_noted(t, n))
            return;
    if (++t->charged < t->noted) {
        __builtin_prefetch(&sim_lines[sim_noted_at(n + 1) / SIM_LINE]);
        sim_insns = n[1].insns;
        sim_settle();
    } else if (t->arrives) {
        sim_insns = t->rest;
        sim_settle();
    }
}

/* False: its core was wanted, and it has another one, or none. */
static bool give_way(struct sim_thread *t)
{
    t->clock = sim_now;
    if (__builtin_expect(n_waiting != 0, 0) && sim_now - t->since > patience(t->core)) {
        free_core(t, true);
        get_core(t, sim_now);
        return false;
    }
    put(t, sim_now);
    return true;
}

static void timed_out(struct sim_thread *t)
{
    uint64_t deadline = tree[leaves + t->id] >> ID_BITS;
    t->timed_out = true;
    t->word = NULL;
    get_core_woken(t, deadline + sim_machine.start, t->core);
}

static void run_on(struct sim_thread *t)
{
    t->charged = t->noted = 0;
    sim_noted = 0;
    sim_notes = notes[t->id];
    sim_limit = limit();
}

/* Until a thread runs on that has nothing noted: the present one, or another one. What is due on the way is done.
 * `acts` goes on as it did: on its core, at the price that it paid; NULL: nobody, since who has a core has changed. */
static void go_on(struct sim_thread *from, const struct sim_thread *acts)
{
    struct sim_thread *to;
    for (;;) {
        if (tree[1] == SIM_NEVER)
            sim_die(1, "the simulated program is stuck: each of its threads sleeps for ever");
        to = &threads[tree[1] & (SIM_THREADS - 1)];
        if (__builtin_expect(to->state != SIM_RUNS, 0)) {
            timed_out(to);
            acts = NULL;
            continue;
        }
        if (to != acts) {
            act(to);
            acts = to;
        }
        if (to->charged == to->noted)
            break;
        charge(to);
        if (to->charged == to->noted && !to->arrives) {
            sim_insns = to->rest;
            break;
        }
        acts = give_way(to) ? to : NULL;
    }
    run_on(to);
    if (to != from) {
        int error = *error_at; /* the program's threads have one each */
        switch_stacks(&contexts[from->id], contexts[to->id]);
        *error_at = error;
    }
}

static void turn(bool arrives)
{
    struct sim_thread *t = sim_me;
    t->noted = (uint16_t)sim_noted;
    t->rest = sim_insns;
    t->arrives = arrives;
    sim_insns = 0;
    bool stays = give_way(t);
    go_on(t, stays && t->noted != 0 ? t : NULL);
}

void sim_turn(void)
{
    turn(true);
}

void sim_drain(void)
{
    if (sim_noted != 0)
        turn(false);
}

static void *program;

static void begin(void)
{
    struct sim_thread *t = sim_me;
    t->result = t->fn(t->arg);
    sim_kernel(sim_machine.park);
    t->clock = sim_now;
    t->state = SIM_ENDED;
    if (t->joiner != NULL)
        get_core(t->joiner, sim_now + sim_machine.start);
    put(t, SIM_NEVER);
    free_core(t, false);
    go_on(t, NULL);
    abort();
}

/* ---- threads ---- */

static struct sim_thread *make(void *(*fn)(void *), void *arg)
{
    uint32_t id = 0;
    while (id < made && !(threads[id].state == SIM_ENDED && threads[id].joined))
        id++;
    if (id == SIM_THREADS)
        return NULL;
    made = id == made ? made + 1 : made;
    grow(id);
    struct sim_thread *t = &threads[id];
    void *stack = t->stack != NULL ? t->stack : sim_map(STACK);
    if (stack == NULL)
        return NULL;
    sim_tls_close(t);
    *t = (struct sim_thread){
        .id = id, .core = SIM_NOWHERE, .pinned = SIM_NOWHERE, .fn = fn, .arg = arg, .stack = stack};
    uintptr_t *top = (uintptr_t *)(void *)((char *)stack + STACK);
    top[-1] = 0; /* begin() returns to nobody, and has no caller's frame */
    top[-2] = (uintptr_t)begin;
    top[-3] = 0;
    contexts[id] = &top[-3];
    return t;
}

struct sim_thread *sim_create(void *(*fn)(void *), void *arg)
{
    sim_kernel(sim_machine.create);
    struct sim_thread *t = make(fn, arg);
    if (t != NULL) {
        get_core(t, sim_now + sim_machine.start);
        sim_limit = limit();
    }
    return t;
}

/* Off the core, until somebody calls get_core. */
static void leave(uint64_t deadline)
{
    struct sim_thread *t = sim_me;
    t->clock = sim_now;
    t->state = SIM_SLEEPS;
    put(t, deadline);
    free_core(t, false);
    go_on(t, NULL);
}

void *sim_join(struct sim_thread *t)
{
    sim_kernel(sim_machine.park);
    if (t->state != SIM_ENDED) {
        t->joiner = sim_me;
        leave(SIM_NEVER);
    }
    t->joined = true; /* its number is free */
    return t->result;
}

int sim_sleep(const void *word, uint64_t deadline)
{
    struct sim_thread *t = sim_me;
    if (deadline <= sim_now)
        return ETIMEDOUT;
    t->timed_out = false;
    t->word = word;
    leave(deadline < SIM_NEVER - sim_machine.slack ? deadline + sim_machine.slack : SIM_NEVER);
    return t->timed_out ? ETIMEDOUT : 0;
}

static struct sim_thread *sleeper(const void *word)
{
    for (uint32_t i = 0; i < made; i++)
        if (threads[i].state == SIM_SLEEPS && threads[i].word == word)
            return &threads[i];
    return NULL;
}

void sim_wake(const void *word, unsigned n)
{
    struct sim_thread *t;
    sim_kernel(sim_machine.call);
    sim_arrive();
    if (sleeper(word) == NULL)
        return;
    sim_kernel(sim_machine.wake - least(sim_machine.wake, sim_machine.call));
    sim_arrive();
    for (; n > 0 && (t = sleeper(word)) != NULL; n--) {
        t->word = NULL;
        get_core_woken(t, sim_now + sim_machine.start, sim_me->core);
    }
    sim_limit = limit();
}

void sim_yield(void)
{
    sim_kernel(sim_machine.yield);
    if (first_waiting(sim_me->core, false) != n_waiting) {
        struct sim_thread *t = sim_me;
        t->clock = sim_now;
        free_core(t, false);
        get_core(t, sim_now);
        go_on(t, NULL);
    }
}

void sim_pin(unsigned core)
{
    struct sim_thread *t = sim_me;
    sim_kernel(sim_machine.yield);
    t->pinned = core % sim_processors;
    if (t->core == t->pinned)
        return;
    t->clock = sim_now;
    free_core(t, false);
    get_core(t, sim_now);
    go_on(t, NULL);
}

void sim_interrupt(void)
{
    for (uint32_t core = 0; core < sim_processors; core++) {
        struct sim_thread *t = on_core[core];
        if (t == NULL || t == sim_me)
            continue;
        t->clock += sim_machine.interrupt;
        sim_interrupted(t, sim_machine.interrupt);
        put(t, t->clock);
    }
    sim_limit = limit();
}

unsigned sim_running(void)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < made; i++)
        n += threads[i].state != SIM_ENDED;
    return n;
}

void sim_start(void *(*fn)(void *), void *arg)
{
    for (uint32_t i = 0; i < 2 * SIM_THREADS; i++)
        tree[i] = SIM_NEVER;
    sim_tls_open();
    error_at = &errno;
    sim_price = sim_machine.instruction;
    struct sim_thread *first = make(fn, arg);
    if (first == NULL)
        sim_die(99, "no memory for the simulated program");
    get_core(first, sim_now);
    act(first);
    run_on(first);
    switch_stacks(&program, contexts[first->id]);
    abort();
}
