/* SPDX-License-Identifier: MIT
 *
 * A wake-up at any instant of a suspension resumes the fibre exactly once.
 *
 * The suspending thread is single-stepped by the processor's trap flag. In each round another thread wakes the fibre
 * behind one more instruction, from the one that begins to wait to the first of the fibre that runs next: saved or not,
 * registered or not, on whatever stack. Where a lock keeps the waker out at that instant, it is under way there.
 * With --stress every instant, otherwise a random choice of them.
 */
#include "harness.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(TN_VALGRIND)
int main(void)
{
    return 77; /* no trap flag, or a tool that minds signals on its stacks or has no trap flag either */
}
#else

enum { BREATHS = 200 }; /* how long an instant waits for a waker that a lock may keep out */

static unsigned long stride = 1;

/* ---- one round ---- */

static volatile unsigned long steps, target;
static atomic_ulong asked;     /* odd: the waker shall begin; even: not yet, in a round of this number */
static atomic_bool done;       /* it has been there */
static atomic_bool published;  /* there is something to wake */
static volatile bool past_end; /* the fibre was off before the instant came: the sweep is over */

static bool is_asked(void)
{
    return (atomic_load(&asked) & 1) != 0;
}

static void ask(void)
{
    if ((atomic_fetch_or(&asked, 1) & 1) != 0)
        return;
    for (int i = 0; i < BREATHS && !atomic_load(&done); i++)
        sched_yield();
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    ucontext_t *u = context;
    if (++steps >= target && atomic_load(&published))
        ask();
    if (is_asked())
        u->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

static __attribute__((noinline)) void step_from_here(void)
{
    static _Thread_local char alternate[65536]; /* a worker that sleeps is stepped until it wakes */
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGTRAP, &trap, NULL);
    steps = 0;
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tleaq 128(%%rsp), %%rsp"
                     :
                     :
                     : "memory", "cc");
}

static void step_no_more(void)
{
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tleaq 128(%%rsp), %%rsp"
                     :
                     :
                     : "memory", "cc");
}

/* ---- the fibres ---- */

enum kind { PLAIN, SUSPEND, REGISTERED, CANCELLED, KINDS };

static enum kind kind;
static tn_runtime *rt;
static tn_waiter waiter, sentinel;
static tn_token token;
static atomic_bool quit, rounds_over, in_sentinel, sentinel_woken;
static unsigned long rounds, resumed, won; /* won: the waker's */

/* Alone, a fibre leaves for its worker's loop, which parks: that is how the end is seen then. */
static bool alone;
static atomic_ulong parked_before;

static unsigned long parked(void)
{
    return counter(tn_cluster_first(rt), "park") + counter(tn_cluster_first(rt), "watch");
}

static void publish(tn_waiter w, void *arg)
{
    (void)arg;
    waiter = w;
    atomic_store(&published, true);
}

static int wait_once(void)
{
    int rc;
    atomic_store(&parked_before, parked());
    if (kind != SUSPEND)
        publish(tn_wait_prepare(), NULL);
    step_from_here();
    if (kind == SUSPEND)
        rc = tn_suspend(publish, NULL, TN_FOREVER, NULL);
    else if (kind == PLAIN)
        rc = tn_wait(TN_FOREVER, NULL);
    else
        rc = tn_wait(tn_now() + UINT64_C(3600000000000), &token);
    step_no_more();
    return rc;
}

static void *sleeper(void *arg)
{
    uint64_t random = harness_seed() + kind;
    target = 1;
    while (!past_end) {
        int rc = wait_once();
        resumed++;
        CHECK_EQUAL(rc, kind == CANCELLED ? ECANCELED : 0);
        while (!atomic_load(&done)) /* the waker is through */
            tn_yield();
        CHECK(!tn_wake(waiter));
        /* Made ready twice, it would now be resumed once too often. */
        atomic_store(&sentinel_woken, false);
        sentinel = tn_wait_prepare();
        atomic_store(&in_sentinel, true);
        CHECK_EQUAL(tn_wait(TN_FOREVER, NULL), 0);
        CHECK(atomic_load(&sentinel_woken));
        rounds++;
        target += 1 + harness_random(&random) % stride;
    }
    atomic_store(&rounds_over, true);
    return arg;
}

/* What runs next, first of all of this: the suspension is over. */
static void *bystander(void *arg)
{
    while (!atomic_load(&quit)) {
        step_no_more();
        if (atomic_load(&published) && !is_asked()) {
            past_end = true;
            ask();
        }
        tn_yield();
    }
    return arg;
}

static void wake_rounds(void)
{
    while (!atomic_load(&rounds_over)) {
        if (alone && atomic_load(&published) && parked() != atomic_load(&parked_before) &&
            (atomic_fetch_or(&asked, 1) & 1) == 0)
            past_end = true;
        if (is_asked() && !atomic_load(&done)) {
            if (kind == CANCELLED)
                tn_token_fire(&token);
            else
                won += tn_wake(waiter);
            atomic_store(&published, false);
            atomic_store(&done, true);
        } else if (atomic_load(&in_sentinel)) {
            atomic_store(&in_sentinel, false);
            atomic_store(&asked, 0);
            atomic_store(&done, false);
            tn_token_init(&token);
            atomic_store(&sentinel_woken, true);
            tn_wake(sentinel);
        } else {
            sched_yield();
        }
    }
}

static void sweep(enum kind which)
{
    struct tn_config c = with(1, NULL);
    tn_fibre *f[2];
    kind = which;
    rounds = resumed = won = 0;
    quit = rounds_over = in_sentinel = done = published = false;
    asked = 0;
    past_end = false; /* volatile, not atomic: clang assigns one to the other no more */
    tn_token_init(&token);
    c.idle = TN_IDLE_BLOCK;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    CHECK_EQUAL(tn_spawn(&f[0], &(struct tn_attr){.runtime = rt}, sleeper, NULL), 0);
    if (!alone)
        CHECK_EQUAL(tn_spawn(&f[1], &(struct tn_attr){.runtime = rt}, bystander, NULL), 0);
    wake_rounds();
    atomic_store(&quit, true);
    for (int i = 0; i < (alone ? 1 : 2); i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    CHECK_EQUAL(tn_stop(rt), 0);
    CHECK_EQUAL(resumed, rounds);
    CHECK_EQUAL(won, kind == CANCELLED ? 0 : rounds);
    CHECK(target > 40); /* it was a sweep */
    harness_note("%lu of %lu instants ", rounds, (unsigned long)target);
}

static void test_sweep(void)
{
    alone = false;
    for (int k = 0; k < KINDS; k++)
        sweep((enum kind)k);
}

static void test_sweep_alone(void)
{
    if (!counting())
        SKIP("it is told by counters");
    alone = true;
    for (int k = 0; k < KINDS; k++)
        sweep((enum kind)k);
}

/* ---- a join: the child ends, on another worker, at any instant of it ---- */

static atomic_bool child_runs;

static void *child(void *arg)
{
    atomic_store(&child_runs, true);
    while (!is_asked())
        ;
    return arg;
}

/* When the child has told its joiner cannot be seen from outside: the instant gives it a while. */
static void *joiner(void *arg)
{
    uint64_t random = harness_seed();
    for (target = 1; !past_end; target += 1 + harness_random(&random) % stride) {
        tn_fibre *f;
        void *value = NULL;
        asked = 2 * target;
        child_runs = false;
        CHECK_EQUAL(tn_spawn(&f, NULL, child, &value), 0);
        while (!atomic_load(&child_runs)) /* a hog, so the other worker takes it */
            ;
        atomic_store(&parked_before, parked());
        atomic_store(&published, true);
        step_from_here();
        int rc = tn_join(f, &value);
        step_no_more();
        atomic_store(&published, false);
        CHECK_EQUAL(rc, 0);
        CHECK(value == &value);
        rounds++;
    }
    atomic_store(&rounds_over, true);
    return arg;
}

static void test_join(void)
{
    struct tn_config c = with(2, NULL);
    tn_fibre *f;
    if (!counting())
        SKIP("it is told by counters");
    rounds = 0;
    rounds_over = published = done = false;
    past_end = false;
    c.idle = TN_IDLE_BLOCK;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, joiner, NULL), 0);
    while (!atomic_load(&rounds_over)) {
        unsigned long round = atomic_load(&asked);
        /* Preempted in between, this may have compared what two rounds have parked: only of the same round is it true. */
        if (atomic_load(&published) && parked() != atomic_load(&parked_before) && (round & 1) == 0 &&
            atomic_compare_exchange_strong(&asked, &round, round + 1))
            past_end = true;
        nap_us(50);
    }
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK_EQUAL(tn_stop(rt), 0);
    CHECK(target > 40);
    harness_note("%lu of %lu instants ", rounds, (unsigned long)target);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"another fibre runs next", test_sweep},
        {"the worker's loop runs next", test_sweep_alone},
        {"a child ends", test_join},
    };
    if (argc > 1 && strcmp(argv[1], "--stress") == 0) {
        harness_patience(600);
        return HARNESS_RUN("sweep-stress", tests);
    }
    stride = 48;
    return HARNESS_RUN("sweep", tests);
}
#endif
