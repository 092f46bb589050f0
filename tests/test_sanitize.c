/* SPDX-License-Identifier: MIT
 *
 * Only in sanitizer builds: an error that is planted in a fibre is found and reported, the fibre's function
 * named; the other suites show that nothing is reported without one.
 */
#include "harness.h"

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int *volatile shared;
static int plain;

static __attribute__((noinline)) void *planted_overflow(void *arg)
{
    volatile char room[32];
    size_t at = (size_t)(uintptr_t)arg;
    tn_yield();
    room[at] = 1;
    return (void *)(uintptr_t)room[0];
}

static __attribute__((noinline)) void *planted_use_after_free(void *arg)
{
    int *p = malloc(sizeof *p);
    shared = p;
    free(p);
    tn_yield_hard();
    *shared = 1;
    return arg;
}

/* No compiler sees whose address it is that leaves. */
static __attribute__((noinline)) void leave_local(int value)
{
    volatile int local = value;
    uintptr_t address = (uintptr_t)&local;
    __asm__ volatile("" : "+r"(address));
    shared = (int *)address;
}

static __attribute__((noinline)) void *planted_use_after_return(void *arg)
{
    leave_local((int)(uintptr_t)arg);
    tn_yield_hard(); /* the fibre's fake stack is kept over a switch */
    return (void *)(uintptr_t)*shared;
}

static __attribute__((noinline)) void *planted_uninitialised(void *arg)
{
    int *p = malloc(sizeof *p);
    shared = p;
    tn_yield_hard();
    if (*shared == (int)(uintptr_t)arg)
        plain++;
    free(p);
    return NULL;
}

static __attribute__((noinline)) void *planted_signed_overflow(void *arg)
{
    int n = (int)(uintptr_t)arg;
    tn_yield();
    plain = n + 1;
    return NULL;
}

static __attribute__((noinline)) void *planted_shift(void *arg)
{
    tn_yield();
    plain = 1 << (int)(uintptr_t)arg;
    return NULL;
}

static atomic_int here;

static __attribute__((noinline)) void *planted_race(void *arg)
{
    atomic_fetch_add_explicit(&here, 1, memory_order_relaxed);
    while (atomic_load_explicit(&here, memory_order_relaxed) < 2)
        sched_yield(); /* no scheduling point: the other one is on the other worker, and nothing orders the two */
    for (int i = 0; i < 1000; i++)
        plain++;
    return arg;
}

struct plant {
    void *(*fn)(void *);
    uintptr_t arg;
};

static void *two(void *arg)
{
    const struct plant *p = arg;
    tn_fibre *f[2];
    for (int i = 0; i < 2; i++)
        if (tn_spawn(&f[i], NULL, p->fn, (void *)p->arg) != 0)
            return NULL;
    for (int i = 0; i < 2; i++)
        tn_join(f[i], NULL);
    return NULL;
}

static int run(void *arg)
{
    struct tn_config c = with(2, NULL);
    tn_run(&c, two, arg, NULL);
    return 0;
}

static unsigned planted;

static void found(struct plant p, const char *kind, const char *function)
{
    static char err[65536];
    planted++;
    int status = harness_child(run, &p, err, sizeof err);
    bool good = CHECK(!exited(status, 0));
    good = CHECK(strstr(err, kind) != NULL) && good;
    good = CHECK(strstr(err, function) != NULL) && good;
    if (!good)
        harness_note("status %x, report: %.2000s", (unsigned)status, err);
}

static void test_address(void)
{
    if (!build_has("sanitize=address"))
        SKIP("not with AddressSanitizer");
    found((struct plant){planted_overflow, 40}, "stack-buffer-overflow", "planted_overflow");
    found((struct plant){planted_use_after_free, 0}, "heap-use-after-free", "planted_use_after_free");
    found((struct plant){planted_use_after_return, 1}, "stack-use-after-return", "planted_use_after_return");
}

static void test_undefined(void)
{
    if (!build_has("sanitize=undefined"))
        SKIP("not with UndefinedBehaviorSanitizer");
    found((struct plant){planted_shift, 40}, "shift exponent", "planted_shift");
    found((struct plant){planted_signed_overflow, INT_MAX}, "signed integer overflow", "planted_signed_overflow");
}

static void test_thread(void)
{
    if (!build_has("sanitize=thread"))
        SKIP("not with ThreadSanitizer");
    found((struct plant){planted_race, 0}, "data race", "planted_race");
}

/* Valgrind's report does not go where the child's standard error goes: another one, of this program, plants them. */
static const char *program;
static const struct plant for_valgrind[] = {{planted_use_after_free, 0}, {planted_uninitialised, 0}};

static int plant_under_valgrind(void *which)
{
    const char *text = which == NULL ? "0" : "1";
    alarm(0); /* what would come of it is gone with this program */
    execlp("valgrind", "valgrind", "--quiet", "--error-exitcode=99", "--fair-sched=yes", program, "--plant", text,
           (char *)NULL);
    return 98;
}

static void found_by_valgrind(bool second, const char *kind, const char *function)
{
    static char err[65536];
    planted++;
    int status = harness_child(plant_under_valgrind, second ? &err : NULL, err, sizeof err);
    bool good = CHECK(exited(status, 99));
    good = CHECK(strstr(err, kind) != NULL) && good;
    good = CHECK(strstr(err, function) != NULL) && good;
    if (!good)
        harness_note("status %x, report: %.2000s", (unsigned)status, err);
}

static void test_valgrind(void)
{
    if (!build_has("sanitize=valgrind"))
        SKIP("not with valgrind");
    found_by_valgrind(false, "Invalid write of size 4", "planted_use_after_free");
    found_by_valgrind(true, "depends on uninitialised value", "planted_uninitialised");
}

/* Whatever the build says of itself: one of these has looked. */
static void test_any(void)
{
    CHECK(planted != 0);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"AddressSanitizer sees into fibres", test_address},
        {"UndefinedBehaviorSanitizer too", test_undefined},
        {"ThreadSanitizer too", test_thread},
        {"valgrind too", test_valgrind},
        {"one of them is at work", test_any},
    };
    program = argv[0];
    if (argc == 3 && strcmp(argv[1], "--plant") == 0) {
        struct plant p = for_valgrind[argv[2][0] == '1'];
        return run(&p);
    }
    return HARNESS_RUN("sanitize", tests);
}
