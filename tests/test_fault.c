/* SPDX-License-Identifier: MIT
 *
 * A stack overflow is told, with the fibre's name and the stack's bounds, and the process dies of the signal or goes on
 * into the application's own handler. Every other fault passes without a word. Built twice: as everything else, and
 * with -fno-stack-clash-protection (TEST_JUMPS), where a large frame goes past the guard.
 */
#include "harness.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(TN_VALGRIND)
#include <valgrind/valgrind.h>
#endif

#ifndef TEST_JUMPS
#define TEST_JUMPS 0
#endif

static char err[2048];

static __attribute__((noinline)) int dig(volatile char *above, unsigned depth)
{
    volatile char room[256];
    room[0] = above != NULL ? above[0] : (char)depth;
    return depth == 0 ? 0 : dig(room, depth - 1) + room[0];
}

static void *overflow(void *arg)
{
    dig(NULL, UINT32_MAX);
    return arg;
}

/* One frame from the middle of the stack to half a page below its guard, then on in small ones. */
static __attribute__((noinline)) int leap(size_t bytes)
{
    volatile char room[bytes];
    room[0] = 1;
    return dig(room, UINT32_MAX) + room[0];
}

static void *overflow_at_once(void *arg)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), left = (size_t)__builtin_frame_address(0);
    left -= (uintptr_t)tn_fibre_self() - tn_stack_size(tn_fibre_self()); /* a pooled stack ends at its fibre */
    leap(left + page + page / 2);
    return arg;
}

/* Nothing is there. Not a null pointer, which UBSan finds before the processor does; and it is read: two that write there
 * at once would be a race as well, and that is what ThreadSanitizer would die of. */
static volatile uintptr_t nowhere = 64;

/* valgrind shall not count what is done on purpose. */
static void on_purpose_here(void)
{
#if defined(TN_VALGRIND)
    VALGRIND_DISABLE_ERROR_REPORTING;
#endif
}

static void *bad_access(void *arg)
{
    (void)arg;
    on_purpose_here();
    return (void *)(uintptr_t) * (volatile int *)nowhere;
}

#if defined(__x86_64__) && !defined(TN_VALGRIND)
#define TEST_WILD 1
static void *wild_stack(void *arg)
{
    __asm__ volatile("movl $64, %esp\n\tpushq %rax");
    return arg;
}
#endif

static void *killed_by_hand(void *arg)
{
    raise(SIGSEGV);
    return arg;
}

/* ---- in children ---- */

struct way {
    void *(*fn)(void *);
    int64_t workers;
    size_t stack;
    void (*prepare)(void);
};

static void *spawn_it(void *arg)
{
    const struct way *way = arg;
    tn_fibre *f[8];
    for (int i = 0; i < 8; i++)
        if (tn_spawn(&f[i], &(struct tn_attr){.name = "digger", .stack = way->stack}, way->fn, NULL) != 0)
            return arg;
    for (int i = 0; i < 8; i++)
        tn_join(f[i], NULL);
    return arg;
}

static int child(void *arg)
{
    const struct way *way = arg;
    struct tn_config c = with(way->workers, "fifo");
    if (way->prepare != NULL)
        way->prepare();
    tn_run(&c, spawn_it, arg, NULL);
    return 3;
}

static int run(struct way way)
{
    return harness_child(child, &way, err, sizeof err);
}

static bool has(const char *text)
{
    bool good = strstr(err, text) != NULL;
    if (!good)
        harness_note("no '%s' in: %s", text, err);
    return good;
}

/* A sanitizer dies in its own way; what is said before is ours. */
static bool died(int status, int signal)
{
    return killed(status, signal) ||
           ((build_has("sanitize=address") || build_has("sanitize=thread")) && !exited(status, 3));
}

static bool told_here(void)
{
    return !build_has("stacks=malloc") && !build_has("stacks=split");
}

static void test_told(void)
{
    if (!told_here())
        SKIP("stacks without guards");
    for (int64_t workers = 1; workers <= 2; workers++) {
        CHECK(died(run((struct way){overflow, workers, 0, NULL}), SIGSEGV));
        CHECK(has("stack overflow in fibre 'digger'") && has("touched") && has("TENTER_STACK=131072"));
        CHECK(strstr(err, "past the guard") == NULL);
    }
    CHECK(died(run((struct way){overflow, 1, 262144, NULL}), SIGSEGV)); /* of a size of its own */
    CHECK(has("stack overflow in fibre 'digger'"));
    unsigned size = 0;
    CHECK(sscanf(strstr(err, "its stack is "), "its stack is %u", &size) == 1 && size > 250000 && size < 340000);
}

static void test_large_frame(void)
{
    if (!build_has("stacks=pooled"))
        SKIP("made for pooled stacks");
    CHECK(died(run((struct way){overflow_at_once, 1, 0, NULL}), SIGSEGV));
    CHECK(has("stack overflow in fibre 'digger'"));
    CHECK_EQUAL(strstr(err, "past the guard") != NULL, TEST_JUMPS);
}

static void little_memory(void)
{
    struct rlimit limit = {UINT64_C(256) << 20, UINT64_C(256) << 20};
    setrlimit(RLIMIT_AS, &limit);
}

/* A split stack has no end but that of memory, and a call cannot return an error: libgcc says so and aborts. */
static void test_split(void)
{
    if (!build_has("stacks=split"))
        SKIP("made for split stacks");
    CHECK(died(run((struct way){overflow, 1, 0, little_memory}), SIGABRT));
    CHECK(has("unable to allocate additional stack space"));
}

static void test_others_pass(void)
{
    CHECK(died(run((struct way){bad_access, 1, 0, NULL}), SIGSEGV));
    CHECK(strstr(err, "stack overflow in fibre") == NULL);
    CHECK(died(run((struct way){killed_by_hand, 1, 0, NULL}), SIGSEGV));
    CHECK(strstr(err, "stack overflow in fibre") == NULL);
#if defined(TEST_WILD)
    CHECK(died(run((struct way){wild_stack, 1, 0, NULL}),
               SIGSEGV)); /* overwritten, whatever the size of the stack is */
    CHECK(strstr(err, "stack overflow in fibre") == NULL);
#endif
}

/* ---- the application's handler ---- */

enum { BY_HANDLER = 42 };

static void handler(int number)
{
    (void)!write(STDERR_FILENO, "handler\n", 8);
    _exit(number == SIGSEGV ? BY_HANDLER : 1);
}

static void handler_info(int number, siginfo_t *info, void *context)
{
    (void)context;
    _exit(number == SIGSEGV && info->si_code > 0 ? BY_HANDLER : 1);
}

static void install(void)
{
    signal(SIGSEGV, handler);
}

static void install_info(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    action.sa_sigaction = handler_info;
    sigaction(SIGSEGV, &action, NULL);
}

static void by_handler(struct way way)
{
    int status = run(way);
    if (!CHECK(exited(status, BY_HANDLER)))
        harness_note("status %x: %s", (unsigned)status, err);
}

static void test_chained(void)
{
    if (!told_here())
        SKIP("stacks without guards");
    by_handler((struct way){overflow, 1, 0, install});
    CHECK(has("stack overflow in fibre 'digger'") && has("handler"));
    by_handler((struct way){overflow, 2, 0, install_info});
    by_handler((struct way){bad_access, 2, 0, install_info});
}

static sigjmp_buf out;

static void jump_out(int number)
{
    siglongjmp(out, number);
}

/* An application that faults on purpose goes on, as often as it likes. */
static void *on_purpose(void *arg)
{
    volatile unsigned faults = 0;
    for (volatile int i = 0; i < 3; i++) {
        if (sigsetjmp(out, 1) == 0)
            *(volatile int *)nowhere = 1;
        else
            faults++;
        tn_yield();
    }
    CHECK_EQUAL(faults, 3);
    return arg;
}

static void test_on_purpose(void)
{
    struct sigaction mine = {.sa_handler = jump_out}, before, after;
    struct tn_config c = with(1, "fifo");
    tn_runtime *one, *two;
    tn_fibre *f;
    if (build_has("sanitize=address") || build_has("sanitize=thread"))
        SKIP("the sanitizer has a say in signals");
    if (build_has("sanitize=valgrind"))
        SKIP("a jump off the signal stack is to valgrind a fibre's stack that grows, over whatever lies between");
    sigaction(SIGSEGV, &mine, &before);
    CHECK_EQUAL(tn_start(&one, &c), 0);
    CHECK_EQUAL(tn_start(&two, &c), 0);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = two}, on_purpose, NULL), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK_EQUAL(tn_stop(one), 0);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = two}, on_purpose, NULL), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK_EQUAL(tn_stop(two), 0);
    sigaction(SIGSEGV, &before, &after); /* with the last runtime our handler has gone */
    CHECK(after.sa_handler == jump_out);
}

int main(void)
{
    static const struct test tests[] = {
        {"an overflow names the fibre, and kills", test_told},
        {"a large frame", test_large_frame},
        {"a split stack ends with memory", test_split},
        {"other faults pass without a word", test_others_pass},
        {"the application's handler comes next", test_chained},
        {"faults on purpose; no handler is left behind", test_on_purpose},
    };
    return HARNESS_RUN("fault", tests);
}
