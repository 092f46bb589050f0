/* SPDX-License-Identifier: MIT
 *
 * What belongs to a fibre and what to its worker, right after switches: errno, floating-point control, where
 * stacks begin. Built twice: with the context in assembly and with ucontext.
 */
#include "harness.h"

#include <errno.h>
#include <fenv.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { SWITCHES = 400, FIBRES = 6 };

static void switch_somehow(uint64_t n)
{
    if (n % 5 == 0)
        tn_yield_hard();
    else if (n % 17 == 0)
        tn_sleep(1000);
    else
        tn_yield();
}

/* Run FIBRES instances of fn on so many workers; arg is their number. */
static void *(*crowd_fn)(void *);

static void *crowd_main(void *arg)
{
    tn_fibre *f[FIBRES];
    for (uintptr_t i = 0; i < FIBRES; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, crowd_fn, (void *)i), 0);
    for (int i = 0; i < FIBRES; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    return arg;
}

static void crowd(void *(*fn)(void *))
{
    crowd_fn = fn;
    for (int64_t workers = 1; workers <= 2; workers++) {
        struct tn_config c = with(workers, "fifo");
        CHECK_EQUAL(tn_run(&c, crowd_main, NULL, NULL), 0);
    }
}

/* ---- errno ---- */

static void *own_errno(void *arg)
{
    int mine = 1000 + (int)(uintptr_t)arg;
    unsigned wrong = errno_get() != 0; /* a fibre starts with 0 */
    for (unsigned i = 0; i < SWITCHES; i++) {
        errno_set(mine + (int)i);
        switch_somehow(i + (uintptr_t)arg);
        wrong += errno_get() != mine + (int)i;
    }
    CHECK_EQUAL(wrong, 0);
    return NULL;
}

static void test_errno(void)
{
    crowd(own_errno);
}

/* ---- the cluster right after a migration ---- */

static tn_cluster *both[2];

static void *wander(void *arg)
{
    unsigned wrong = 0;
    for (uintptr_t i = (uintptr_t)arg; i < SWITCHES; i++) {
        wrong += tn_migrate(both[i % 2]) != 0 || tn_cluster_self() != both[i % 2];
        switch_somehow(i);
        wrong += tn_cluster_self() != both[i % 2];
    }
    CHECK_EQUAL(wrong, 0);
    return NULL;
}

static void test_cluster(void)
{
    struct tn_config c = with(1, "fifo"), d = with(1, "lifo");
    tn_runtime *rt;
    tn_fibre *f[FIBRES];
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    both[0] = tn_cluster_first(rt);
    CHECK_EQUAL(tn_cluster_create(rt, &d, &both[1]), 0); /* another module */
    for (uintptr_t i = 0; i < FIBRES; i++)
        CHECK_EQUAL(tn_spawn(&f[i], &(struct tn_attr){.cluster = both[i % 2]}, wander, (void *)i), 0);
    for (int i = 0; i < FIBRES; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- floating-point control ---- */

#if defined(__x86_64__)
static unsigned short x87_control(void)
{
    unsigned short word;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    return word;
}

static void x87_set(unsigned short word)
{
    __asm__ volatile("fldcw %0" : : "m"(word));
}

static void *own_control(void *arg)
{
    static const unsigned short x87[] = {0x037f, 0x077f, 0x0b7f, 0x0f7f, 0x027f, 0x007f};
    static const unsigned mode[] = {_MM_ROUND_NEAREST, _MM_ROUND_DOWN, _MM_ROUND_UP, _MM_ROUND_TOWARD_ZERO};
    uintptr_t i = (uintptr_t)arg;
    /* Every fibre starts with what the ABI gives a process, whatever its spawner had set. */
    CHECK_EQUAL(_mm_getcsr() & ~0x3fu, 0x1f80);
    CHECK_EQUAL(x87_control(), 0x037f);
    unsigned csr = (_mm_getcsr() & ~(unsigned)(_MM_ROUND_MASK | 0x8040)) | mode[i % 4] | (i % 2 ? 0x8040u : 0);
    _mm_setcsr(csr);
    x87_set(x87[i % 6]);
    unsigned wrong = 0;
    for (unsigned k = 0; k < SWITCHES; k++) {
        switch_somehow(k + i);
        wrong += (_mm_getcsr() & ~0x3fu) != (csr & ~0x3fu);
        wrong += x87_control() != x87[i % 6];
    }
    volatile double one = 1, three = 3; /* and it is the mode that is computed with */
    double third = one / three;
    wrong += i % 4 == 2 ? third <= 0x1.5555555555555p-2 : third > 0x1.5555555555555p-2;
    CHECK_EQUAL(wrong, 0);
    return NULL;
}

static void test_control(void)
{
    if (build_has("sanitize=valgrind"))
        SKIP("valgrind keeps neither the x87 precision nor flush-to-zero");
    crowd(own_control);
}
#elif defined(__aarch64__)
static uint64_t fpcr(void)
{
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return word;
}

static void *own_control(void *arg)
{
    uint64_t i = (uintptr_t)arg, mine = i % 4 << 22 | (i % 2) << 24; /* rounding; flush to zero */
    unsigned wrong = fpcr() != 0;                                    /* what the ABI gives a process */
    __asm__ volatile("msr fpcr, %0" : : "r"(mine));
    for (unsigned k = 0; k < SWITCHES; k++) {
        switch_somehow(k + i);
        wrong += fpcr() != mine;
    }
    volatile double one = 1, three = 3; /* and it is the mode that is computed with */
    double third = one / three;
    wrong += i % 4 == 1 ? third <= 0x1.5555555555555p-2 : third > 0x1.5555555555555p-2;
    CHECK_EQUAL(wrong, 0);
    return NULL;
}

static void test_control(void)
{
    crowd(own_control);
}
#endif

/* ---- registers ---- */

/* More values than any ABI has callee-saved registers, of each kind, alive over a switch. The barrier keeps the
 * compiler from computing them anew. */
#if defined(__x86_64__)
#define REAL "+x"
#elif defined(__aarch64__)
#define REAL "+w"
#else
#define REAL "+m"
#endif
#define KEEP(kind, a, b, c, d) __asm__ volatile("" : kind(a), kind(b), kind(c), kind(d))
#define KEEP_ALL                \
    do {                        \
        KEEP("+r", a, b, c, d); \
        KEEP("+r", e, f, g, h); \
        KEEP("+r", i, j, l, m); \
        KEEP(REAL, p, q, r, t); \
        KEEP(REAL, u, v, w, x); \
        KEEP(REAL, p, q, y, z); \
    } while (0)

static void *own_registers(void *arg)
{
    unsigned wrong = 0;
    for (unsigned k = 0; k < SWITCHES; k++) {
        uint64_t s = (uintptr_t)arg * 1000 + k;
        uint64_t a = s + 1, b = s + 2, c = s + 3, d = s + 4, e = s + 5, f = s + 6, g = s + 7, h = s + 8, i = s + 9,
                 j = s + 10, l = s + 11, m = s + 12;
        double p = (double)s + 1, q = (double)s + 2, r = (double)s + 3, t = (double)s + 4, u = (double)s + 5,
               v = (double)s + 6, w = (double)s + 7, x = (double)s + 8, y = (double)s + 9, z = (double)s + 10;
        KEEP_ALL;
        tn_yield();
        KEEP_ALL;
        wrong += a + b + c + d + e + f + g + h + i + j + l + m != 12 * s + 78;
        wrong += a != s + 1 || c != s + 3 || h != s + 8 || m != s + 12;
        wrong += p + q + r + t + u + v + w + x + y + z > 10 * (double)s + 55 ||
                 p + q + r + t + u + v + w + x + y + z < 10 * (double)s + 55;
    }
    CHECK_EQUAL(wrong, 0);
    return NULL;
}

static void test_registers(void)
{
    crowd(own_registers);
}

/* ---- stacks ---- */

static atomic_uintptr_t tops[64];
static atomic_uint n_tops;

static __attribute__((noinline)) void *aligned(void *arg)
{
    char small;
    _Alignas(16) volatile float v[4] = {1, 2, 3, 4}; /* what movaps wants */
    _Alignas(64) volatile char wide[64];
    wide[0] = 1;
    CHECK_EQUAL((uintptr_t)v % 16, 0);
    CHECK_EQUAL((uintptr_t)wide % 64, 0);
#if defined(__x86_64__)
    __asm__ volatile("movaps %0, %%xmm0\n\tmovaps %%xmm0, %0" : "+m"(*(volatile float(*)[4])v) : : "xmm0");
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    CHECK_EQUAL(frame % 16, 0); /* the ABI's: 16-aligned before the call that pushed the return address */
#endif
    char text[64];
    snprintf(text, sizeof text, "%f %Lf", 1.5, (long double)2.5L); /* the C library relies on it */
    CHECK(strcmp(text, "1.500000 2.500000") == 0);
    atomic_store(&tops[atomic_fetch_add(&n_tops, 1) % 64], (uintptr_t)&small);
    tn_yield();
    return arg;
}

static void test_alignment(void)
{
    atomic_store(&n_tops, 0);
    crowd(aligned);
}

/* The tops of stacks must not all fall into the same cache sets. */
static void *colours(void *arg)
{
    enum { N = 32 };
    tn_fibre *f[N];
    bool seen[64] = {false};
    unsigned different = 0;
    atomic_store(&n_tops, 0);
    for (int i = 0; i < N; i++)
        CHECK_EQUAL(tn_spawn(&f[i], NULL, aligned, NULL), 0);
    for (int i = 0; i < N; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    for (int i = 0; i < N; i++) {
        unsigned line = (unsigned)(atomic_load(&tops[i]) % 4096 / 64);
        different += !seen[line];
        seen[line] = true;
    }
    if (!CHECK(different >= 12))
        harness_note("%u different lines in %d stacks", different, N);
    return arg;
}

static void test_colours(void)
{
    struct tn_config c = with(1, "fifo");
    if (build_has("sanitize=address"))
        SKIP("locals are elsewhere");
    if (build_has("stacks=split"))
        SKIP("libgcc places segments");
    CHECK_EQUAL(tn_run(&c, colours, NULL, NULL), 0);
}

int main(void)
{
    static const struct test tests[] = {
        {"errno belongs to the fibre", test_errno},
        {"the cluster right after a migration", test_cluster},
#if defined(__x86_64__) || defined(__aarch64__)
        {"rounding and masks belong to the fibre", test_control},
#endif
        {"registers come back", test_registers},
        {"a fresh stack is aligned", test_alignment},
        {"stacks are coloured", test_colours},
    };
    return HARNESS_RUN("switch", tests);
}
