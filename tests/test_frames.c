/* SPDX-License-Identifier: MIT
 *
 * Back-traces: the frames that there are, through realigned stacks, frames of no fixed size, signal handlers and the
 * linker's stubs; and of what is no stack at all, none that kills.
 */
#include "harness.h"

#include "platform.h"

#include <alloca.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- as the C library sees it ---- */

enum { MAX = 32 };
static uintptr_t base, seen[MAX];
static void *expected[MAX];
static unsigned n_seen;
static int n_expected;

static __attribute__((noinline)) void look(void)
{
    struct tn_where here;
    TN_HERE(here);
    n_seen = tn_backtrace(&here, here.sp, base, seen, MAX);
    n_expected = backtrace(expected, MAX);
}

static void (*inner)(void);
#define KEEP __asm__ volatile("" ::: "memory") /* no tail call */

static __attribute__((noinline)) void plain(void)
{
    inner();
    KEEP;
}

static __attribute__((noinline)) void realigned(void)
{
    _Alignas(128) volatile char line[128];
    line[0] = 1;
    inner();
    line[1] = line[0];
}

static __attribute__((noinline)) void of_any_size(void)
{
    static volatile size_t n = 333;
    volatile char *more = alloca(n);
    more[0] = 1;
    inner();
    more[1] = more[0];
}

static __attribute__((noinline)) void of_any_size_realigned(void)
{
    static volatile size_t n = 333;
    _Alignas(64) volatile char line[64];
    volatile char *more = alloca(n);
    line[0] = more[0] = 1;
    inner();
    more[1] = line[0];
}

static void handler(int signal)
{
    (void)signal;
    look();
    KEEP;
}

static __attribute__((noinline)) void raises(void)
{
    raise(SIGUSR1);
    KEEP;
}

static int compares(const void *a, const void *b)
{
    (void)b;
    if (n_seen == 0)
        look();
    KEEP;
    return *(const int *)a;
}

static __attribute__((noinline)) void sorts(void)
{
    int some[2] = {0, 1};
    qsort(some, 2, sizeof *some, compares); /* through the C library's own frames */
    KEEP;
}

static __attribute__((noinline)) void through(void (*outer)(void), void (*in)(void))
{
    struct tn_where here;
    TN_HERE(here);
    base = here.sp;
    inner = in;
    n_seen = 0;
    n_expected = 0;
    outer();
    KEEP;
}

static void test_same(void)
{
#if defined(__x86_64__)
    void (*const outer[])(void) = {plain, realigned, of_any_size, of_any_size_realigned};
    void (*const in[])(void) = {look, raises, sorts};
    signal(SIGUSR1, handler);
    for (unsigned i = 0; i < sizeof outer / sizeof *outer; i++)
        for (unsigned k = 0; k < sizeof in / sizeof *in; k++) {
            through(outer[i], in[k]);
            CHECK(n_seen >= 2 && (int)n_seen < n_expected);
            /* The first is where each of us was asked; behind a call the C library tells the address after it. A
             * sanitizer's own backtrace may stand before. */
            unsigned first = 1;
            while ((int)(first + n_seen) < n_expected && (uintptr_t)expected[first] - seen[1] > 1)
                first++;
            for (unsigned a = 1; a < n_seen; a++)
                if (!CHECK((uintptr_t)expected[first + a - 1] - seen[a] <= 1))
                    harness_note("outer %u, in %u: frame %u of %u is %p, not %p", i, k, a, n_seen, (void *)seen[a],
                                 expected[first + a - 1]);
        }
    signal(SIGUSR1, SIG_DFL);
#else
    SKIP("not compiled with frame pointers throughout");
#endif
}

/* ---- of anything ---- */

static uintptr_t text_low, text_high;

static int find_text(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X) != 0 &&
            (text_low == 0 || arg != NULL)) {
            text_low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            text_high = text_low + info->dlpi_phdr[i].p_memsz;
        }
    return text_low != 0; /* the program is the first */
}

static uint64_t random_now;

static uintptr_t anything(const uintptr_t *stack, size_t words, uintptr_t hole)
{
    uint64_t r = harness_random(&random_now), at = harness_random(&random_now);
    switch (r % 8) {
    case 0:
        return at; /* mostly no address at all */
    case 1:
        return hole + at % tn_page();
    case 2:
        return at % 4096;
    case 3:
    case 4:
        return (uintptr_t)(stack + at % words) + (r / 8 % 4 == 0 ? at % 8 : 0);
    default:
        return text_low + at % (text_high - text_low);
    }
}

/* Return addresses into nowhere, frame pointers to nowhere, and loops of them. Each address of the program's text has its
 * turn, the middle of a prologue too. */
static int walks(void *arg)
{
    enum { WORDS = 512, WALKS = 20000 };
    static uintptr_t stack[WORDS];
    uintptr_t pc[MAX], hole = (uintptr_t)mmap(NULL, tn_page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool bounded = *(bool *)arg;
    random_now = harness_seed();
    for (int i = 0; i < WALKS; i++) {
        if (i % 16 == 0)
            for (int k = 0; k < WORDS; k++)
                stack[k] = anything(stack, WORDS, hole);
        struct tn_where where = {.pc = anything(stack, WORDS, hole),
                                 .sp = (uintptr_t)(stack + harness_random(&random_now) % WORDS),
                                 .fp = anything(stack, WORDS, hole)};
        uintptr_t low = bounded ? (uintptr_t)stack : 1, high = bounded ? (uintptr_t)(stack + WORDS) : UINTPTR_MAX;
        if (tn_backtrace(&where, low, high, pc, MAX) > MAX)
            return 1;
    }
    return 0;
}

static void test_anything(void)
{
    char said[4096];
    dl_iterate_phdr(find_text, NULL);
    for (int bounded = 0; bounded < 2; bounded++) {
        bool is = bounded != 0;
        int status = harness_child(walks, &is, said, sizeof said);
        if (!CHECK(exited(status, 0)))
            harness_note("bounded %d: status %x: %s", bounded, (unsigned)status, said);
    }
}

/* ---- looking at memory ---- */

static void test_peek(void)
{
    size_t page = tn_page();
    char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), got[8] = "";
    memcpy(at + page - 4, "abcd", 4);
    mprotect(at + page, page, PROT_NONE);
    CHECK(tn_peek((uintptr_t)at + page - 4, got, 4) && memcmp(got, "abcd", 4) == 0);
    CHECK(!tn_peek((uintptr_t)at + page - 4, got, 8));
    CHECK(!tn_peek((uintptr_t)at + page, got, 1));
    CHECK(!tn_peek(16, got, 8));
    munmap(at, 2 * page);
    CHECK(!tn_peek((uintptr_t)at, got, 8));
}

/* ---- looking at threads ---- */

static int without_descriptor(void *arg)
{
    while (dup(STDERR_FILENO) >= 0)
        ;
    bool sleeps = tn_thread_sleeps(tn_thread_number()) || tn_thread_sleeps(tn_thread_number());
    return arg != NULL || sleeps || tn_thread_count() - tn_tool_threads() != 1;
}

static void test_without_descriptor(void)
{
    char said[4096];
    int status = harness_child(without_descriptor, NULL, said, sizeof said);
    bool good = CHECK(exited(status, 0));
    const char *once = strstr(said, "tenter: no descriptor is left");
    good = CHECK(once != NULL && strstr(once + 20, "no descriptor") == NULL) && good;
    if (!good)
        harness_note("status %x: %s", (unsigned)status, said);
}

int main(void)
{
    static const struct test tests[] = {
        {"the frames that there are", test_same},
        {"of what is no stack", test_anything},
        {"looking at memory", test_peek},
        {"looking at threads without a descriptor", test_without_descriptor},
    };
    return HARNESS_RUN("frames", tests);
}
