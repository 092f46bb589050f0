/* SPDX-License-Identifier: MIT
 *
 * Preemption. Fibres here check nothing themselves: a check takes a lock, and whoever has it could be preempted. What they
 * find is looked at when they have ended.
 */
#include "harness.h"
#include "preempting.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- it happens ---- */

static void test_hog(void)
{
    tn_runtime *rt = start(1);
    volatile bool flag = false;
    tn_fibre *hog = spawn(rt, until_set, (void *)(uintptr_t)&flag);
    join(spawn(rt, set, (void *)(uintptr_t)&flag));
    join(hog);
    if (counting())
        CHECK(counter(tn_cluster_first(rt), "preempt") >= 1);
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void *for_ever(void *flag)
{
    *(volatile bool *)flag = true;
    for (;;)
        ;
    return NULL;
}

/* Also when nobody else wants the worker, and while some were preempted before. */
static void test_stop(void)
{
    for (unsigned n = 1; n <= 3; n++) {
        tn_runtime *rt = start(1);
        volatile bool flag[3] = {false, false, false};
        for (unsigned i = 0; i < n; i++)
            CHECK_EQUAL(tn_detach(spawn(rt, for_ever, (void *)(uintptr_t)&flag[i])), 0);
        for (unsigned i = 0; i < n; i++)
            CHECK(EVENTUALLY(flag[i]));
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

/* Nor does the thread of tn_run, which is the worker, stay with one when the first fibre has ended. */
static void *leaves_one(void *flag)
{
    return tn_spawn(NULL, NULL, for_ever, flag) == 0 ? flag : NULL;
}

static void test_run(void)
{
    struct tn_config c = preempting(1);
    volatile bool flag = false;
    void *value = NULL;
    CHECK_EQUAL(tn_run(&c, leaves_one, (void *)(uintptr_t)&flag, &value), 0);
    CHECK(value == (void *)(uintptr_t)&flag);
}

/* Each in its turn, whatever else there is: fibres that call nothing, and two that yield to each other. */
enum { HOGS = 4, TURNS = 5 };
static volatile unsigned turns[HOGS];
static volatile unsigned last_hog;
static volatile bool over;

static void *hog(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    while (!over) {
        if (last_hog != me) {
            last_hog = me;
            turns[me]++;
        }
    }
    return NULL;
}

static void *yields(void *arg)
{
    while (!over)
        tn_yield();
    return arg;
}

static bool all_had(unsigned wanted)
{
    for (unsigned i = 0; i < HOGS; i++)
        if (turns[i] < wanted)
            return false;
    return true;
}

static void all_get_turns(unsigned yielders)
{
    tn_runtime *rt = start(1);
    tn_fibre *f[HOGS + 2];
    over = false;
    for (unsigned i = 0; i < HOGS; i++)
        turns[i] = 0;
    for (unsigned i = 0; i < HOGS; i++)
        f[i] = spawn(rt, hog, (void *)(uintptr_t)i);
    for (unsigned i = 0; i < yielders; i++)
        f[HOGS + i] = spawn(rt, yields, NULL);
    CHECK(EVENTUALLY(all_had(TURNS)));
    over = true;
    for (unsigned i = 0; i < HOGS + yielders; i++)
        join(f[i]);
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void test_turns(void)
{
    all_get_turns(0);
    all_get_turns(2);
}

/* A worker that shall leave keeps whom it has preempted until they can go elsewhere. */
static void test_leave(void)
{
    struct tn_config c = preempting(2);
    tn_runtime *rt = NULL;
    volatile bool flag = false;
    tn_fibre *f[4];
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    for (unsigned i = 0; i < 4; i++)
        f[i] = spawn(rt, until_set, (void *)(uintptr_t)&flag);
    tn_cluster *cl = tn_cluster_first(rt);
    CHECK(!counting() || EVENTUALLY(counter(cl, "preempt") >= 8));
    CHECK_EQUAL(tn_workers_remove(cl, 1), 0);
    nap_us(4 * PERIOD_US);
    flag = true;
    for (unsigned i = 0; i < 4; i++)
        join(f[i]);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* A fibre that sleeps beside one that computes is woken in time, though nobody comes to a scheduling point. */
static void *sleeps(void *flag)
{
    tn_sleep(1000000);
    return set(flag);
}

static void test_timer(void)
{
    tn_runtime *rt = start(1);
    volatile bool flag = false;
    tn_fibre *sleeper = spawn(rt, sleeps, (void *)(uintptr_t)&flag),
             *f = spawn(rt, until_set, (void *)(uintptr_t)&flag);
    join(sleeper);
    join(f);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- nothing of it is seen by the fibre ---- */

static volatile unsigned long wrong;

static double sum_of(unsigned n)
{
    double a = 1, b = 2, c = 3, d = 4;
    for (unsigned i = 1; i <= n; i++) {
        a += 1.0 / i;
        b += a / (i + 1.0);
        c += b * 1e-9;
        d = d * 0.5 + c;
    }
    return a + b + c + d;
}

enum { ROUNDS = 40, TERMS = 200000 };
static double expected;

/* errno's address is kept here: it is right only if the thread stays the same. */
static void *computes(void *arg)
{
    int *error = &errno, mine = (int)(uintptr_t)arg;
    pthread_t thread = pthread_self();
    *error = mine;
    for (unsigned i = 0; i < ROUNDS; i++) {
        double got = sum_of(TERMS);
        wrong += memcmp(&got, &expected, sizeof got) != 0;
        wrong += *error != mine;
        wrong += !pthread_equal(thread, pthread_self());
    }
    return NULL;
}

static void test_state(void)
{
    tn_runtime *rt = start(2);
    tn_fibre *f[6];
    wrong = 0;
    expected = sum_of(TERMS);
    for (unsigned i = 0; i < 6; i++)
        f[i] = spawn(rt, computes, (void *)(uintptr_t)(100 + i));
    for (unsigned i = 0; i < 6; i++)
        join(f[i]);
    CHECK_EQUAL(wrong, 0);
    if (counting())
        CHECK(counter(tn_cluster_first(rt), "preempt") >= 4);
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void *looks_at_mask(void *arg)
{
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    *(volatile int *)arg = sigismember(&mask, SIGVTALRM);
    return NULL;
}

static void test_mask(void)
{
    tn_runtime *rt = start(1);
    volatile bool flag = false;
    volatile int blocked = -1;
    tn_fibre *f = spawn(rt, until_set, (void *)(uintptr_t)&flag);
    join(spawn(rt, looks_at_mask, (void *)(uintptr_t)&blocked)); /* reached by preempting f */
    flag = true;
    join(f);
    CHECK_EQUAL(blocked, 0);
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void test_smallest_stack(void)
{
    tn_runtime *rt = start(1);
    volatile bool flag = false;
    tn_fibre *f[3];
    for (unsigned i = 0; i < 3; i++) {
        struct tn_attr a = {.runtime = rt, .stack = (size_t)sysconf(_SC_PAGESIZE)};
        CHECK_EQUAL(tn_spawn(&f[i], &a, until_set, (void *)(uintptr_t)&flag), 0);
    }
    CHECK(!counting() || EVENTUALLY(counter(tn_cluster_first(rt), "preempt") >= 20));
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (unsigned i = 0; i < 3; i++)
        CHECK(tn_stack_used(f[i]) + page / 2 < tn_stack_size(f[i]));
    flag = true;
    for (unsigned i = 0; i < 3; i++)
        join(f[i]);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* All that AVX-512 has beside the registers of before: in each fibre other values, on stacks that could be no smaller. */
enum { WIDE = 4, ZMM = 32, MASKS = 7 };
struct wide {
    _Alignas(64) uint64_t zmm[ZMM][8];
    uint16_t k[MASKS + 1];
};
static struct wide before[WIDE], after[WIDE];
static volatile bool wide_flag;
static volatile unsigned too_small;
static bool pooled;

__attribute__((target("avx512f"), noinline)) static void is_wide(void *number)
{
    uintptr_t n = (uintptr_t)number;
    __asm__ volatile(
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t"
        "vmovdqu64 64*\\i(%0), %%zmm\\i\n\t"
        ".endr\n\t"
        ".irp i,1,2,3,4,5,6,7\n\t"
        "kmovw 2048+2*\\i(%0), %%k\\i\n\t"
        ".endr\n"
        "1:\tcmpb $0, (%2)\n\t"
        "je 1b\n\t"
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t"
        "vmovdqu64 %%zmm\\i, 64*\\i(%1)\n\t"
        ".endr\n\t"
        ".irp i,1,2,3,4,5,6,7\n\t"
        "kmovw %%k\\i, 2048+2*\\i(%1)\n\t"
        ".endr\n\t"
        "vzeroupper"
        :
        : "r"(&before[n]), "r"(&after[n]), "r"(&wide_flag)
        : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
          "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22",
          "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4",
          "k5", "k6", "k7");
}

/* With nothing left of its stack but what is promised for being preempted: two frames of the signal, and 12 KiB for the handler. */
static void *fills_and_is_wide(void *number)
{
    tn_fibre *self = tn_fibre_self();
    char here;
    size_t left = (size_t)(&here - ((char *)self - tn_stack_size(self))); /* a pooled stack ends at its fibre */
    size_t promised = 2 * getauxval(AT_MINSIGSTKSZ) + 12288, own = 512;   /* own: of this, and the call */
    if (pooled && left > promised + own) {
        volatile char *fill = __builtin_alloca(left - promised - own);
        *fill = 1;
    }
    too_small += pooled && left <= promised + own;
    is_wide(number);
    return NULL;
}

static void test_wide(void)
{
    _Static_assert(offsetof(struct wide, k) == 2048, "as the instructions have it");
    uint64_t random = harness_seed();
    tn_fibre *f[WIDE];
    if (!__builtin_cpu_supports("avx512f"))
        SKIP("no AVX-512");
    tn_runtime *rt = start(1);
    wide_flag = false;
    too_small = 0;
    pooled = build_has("stacks=pooled");
    memset(after, 0, sizeof after);
    for (uintptr_t i = 0; i < WIDE; i++) {
        struct tn_attr a = {.runtime = rt, .stack = (size_t)sysconf(_SC_PAGESIZE)};
        for (int r = 0; r < ZMM * 8; r++)
            before[i].zmm[r / 8][r % 8] = harness_random(&random);
        for (int r = 1; r <= MASKS; r++)
            before[i].k[r] = (uint16_t)harness_random(&random);
        CHECK_EQUAL(tn_spawn(&f[i], &a, fills_and_is_wide, (void *)i), 0);
    }
    CHECK(!counting() || EVENTUALLY(counter(tn_cluster_first(rt), "preempt") >= 5 * WIDE));
    for (unsigned i = 0; i < WIDE; i++)
        CHECK(tn_stack_used(f[i]) + 1024 < tn_stack_size(f[i]));
    wide_flag = true;
    CHECK_EQUAL(too_small, 0);
    for (unsigned i = 0; i < WIDE; i++) {
        join(f[i]);
        CHECK_EQUAL(memcmp(before[i].zmm, after[i].zmm, sizeof before[i].zmm), 0);
        CHECK_EQUAL(memcmp(&before[i].k[1], &after[i].k[1], MASKS * sizeof before[i].k[1]), 0);
    }
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void *sleeps_long(void *arg)
{
    struct rusage *at = arg;
    getrusage(RUSAGE_THREAD, &at[0]);
    tn_sleep(100000000);
    getrusage(RUSAGE_THREAD, &at[1]);
    return NULL;
}

/* Nobody is there to be preempted: 200 periods, and the worker sleeps. */
static void test_idle(void)
{
    tn_runtime *rt = start(1);
    struct rusage at[2];
    join(spawn(rt, sleeps_long, at));
    CHECK(at[1].ru_nvcsw - at[0].ru_nvcsw < 50);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- refused ---- */

static int refused(void *arg)
{
    tn_runtime *rt;
    struct tn_config c = preempting(1);
    c.preempt_us = *(int64_t *)arg;
    return tn_start(&rt, &c);
}

static int refused_with_handler(void *arg)
{
    signal(SIGVTALRM, SIG_IGN);
    return refused(arg);
}

static int refused_later(void *arg)
{
    tn_runtime *rt;
    tn_cluster *cl;
    struct tn_config c = with(1, NULL);
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    c.preempt_us = *(int64_t *)arg;
    return tn_cluster_create(rt, &c, &cl);
}

static void test_refused(void)
{
    char err[512];
    int64_t us = 49;
    CHECK(exited(harness_child(refused, &us, err, sizeof err), EINVAL));
    CHECK(strstr(err, "preempt_us=49: 0, or at least 50") != NULL);
    us = PERIOD_US;
    CHECK(exited(harness_child(refused_with_handler, &us, err, sizeof err), EBUSY));
    CHECK(strstr(err, "handler for SIGVTALRM") != NULL);
    CHECK(exited(harness_child(refused_later, &us, err, sizeof err), EINVAL));
    CHECK(strstr(err, "was started without") != NULL);
}

static const struct test tests[] = {
    {"a fibre that calls nothing gives way", test_hog},
    {"tn_stop ends one that computes for ever", test_stop},
    {"tn_run ends, whoever computes for ever", test_run},
    {"each gets its turn", test_turns},
    {"a worker keeps whom it has preempted", test_leave},
    {"timers run out meanwhile", test_timer},
    {"registers, errno and the thread stay", test_state},
    {"the signal is not left blocked", test_mask},
    {"the smallest stack has room for it", test_smallest_stack},
    {"the smallest stack, and all of AVX-512", test_wide},
    {"no ticks while idle", test_idle},
    {"what is refused", test_refused},
};

int main(int argc, char **argv)
{
    struct tn_config c = preempting(1);
    tn_runtime *rt;
    if (argc > 1 && strcmp(argv[1], "--refuses") == 0) /* this program is linked so that it must be */
        return tn_start(&rt, &c) == ENOTSUP ? 0 : 1;
    return HARNESS_RUN("preempt", tests);
}
