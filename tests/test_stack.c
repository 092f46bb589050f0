/* SPDX-License-Identifier: MIT
 *
 * Stacks: each has its guard, right below it, and each comes back when its fibre has ended, in whatever way. Built
 * twice: with the context in assembly and with ucontext.
 */
#include "harness.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- guards ---- */

/* In a child: a crowd of fibres sleeps, each with a pattern on its stack. One of them is woken and overflows. The
 * fault must be on the page below its stack, and every other pattern intact. */
enum { CROWD = 40, PATTERN = 2048 };
enum { ON_GUARD = 7, ON_GUARD_ALONE, ELSEWHERE, DAMAGED, NO_FAULT };

struct overflow {
    int64_t stack;  /* of the runtime; 0: the default */
    size_t unusual; /* of the fibres, if it is another */
    unsigned who;
};

static struct sleeper {
    tn_waiter waiter;
    uintptr_t first, pattern; /* its first frame; what lies on its stack */
} crowd[CROWD];

static const struct overflow *way;
static uintptr_t page, least, most; /* where the fault must be: least <= at < most */
static bool neighbour;              /* another one's stack lies right below */
static char signal_stack[16384];

static uint8_t pattern_at(size_t who, size_t i)
{
    return (uint8_t)(who * 37 + i * 11 + 1);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    uintptr_t at = (uintptr_t)info->si_addr;
    unsigned char resident;
    for (size_t who = 0; who < CROWD; who++)
        for (size_t i = 0; i < PATTERN && who != way->who; i++)
            if (((const volatile uint8_t *)crowd[who].pattern)[i] != pattern_at(who, i))
                _exit(DAMAGED);
    /* A guard belongs to the mapping; what lies below it may not be mapped at all. */
    if (at < least || at >= most || mincore((void *)(at / page * page), page, &resident) != 0)
        _exit(ELSEWHERE);
    _exit(neighbour ? ON_GUARD : ON_GUARD_ALONE);
}

static __attribute__((noinline)) int dig(volatile char *above, unsigned depth)
{
    volatile char room[256];
    room[0] = above != NULL ? above[0] : (char)depth;
    return depth == 0 ? 0 : dig(room, depth - 1) + room[0];
}

static void *sleep_on_pattern(void *arg)
{
    struct sleeper *self = arg;
    volatile uint8_t pattern[PATTERN];
    for (size_t i = 0; i < PATTERN; i++)
        pattern[i] = pattern_at((size_t)(self - crowd), i);
    self->pattern = (uintptr_t)pattern;
    self->first = (uintptr_t)__builtin_frame_address(0);
    self->waiter = tn_wait_prepare();
    tn_wait(TN_FOREVER, NULL);
    dig(NULL, UINT32_MAX);
    _exit(NO_FAULT);
}

/* The bottom, from the first frame: less than a page below the top. A module of this build keeps 200 bytes with
 * each fibre (tests/modules/stateful), on top of the stack. */
static void expect(uintptr_t first)
{
    size_t stack = way->unusual != 0 ? way->unusual : way->stack != 0 ? (size_t)way->stack : 65536;
    size_t state = way->unusual == 0 && build_has("\"stacks\":\"pooled\"") ? 256 : 0;
    stack = (stack + state + page - 1) / page * page;
    if (way->unusual == 0) {
        least = (first - stack) / page * page;
        most = least + page;
    } else { /* sizes fall into classes, four to a doubling */
        least = first - stack - stack / 4 - 3 * page;
        most = first - stack + page;
    }
    for (int i = 0; i < CROWD; i++)
        neighbour = neighbour || (crowd[i].first < first - stack && crowd[i].first > first - stack - 2 * page);
}

static void *overflow_one(void *arg)
{
    stack_t alternative = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    tn_fibre *f[CROWD];
    action.sa_sigaction = on_fault;
    sigaltstack(&alternative, NULL); /* of this thread, the only worker */
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    for (int i = 0; i < CROWD; i++)
        if (tn_spawn(&f[i], &(struct tn_attr){.stack = way->unusual}, sleep_on_pattern, &crowd[i]) != 0)
            return NULL;
    for (int i = 0; i < CROWD; i++)
        while (crowd[i].waiter.fibre == NULL)
            tn_yield();
    expect(crowd[way->who].first);
    tn_wake(crowd[way->who].waiter);
    tn_join(f[way->who], NULL);
    return arg;
}

static int overflow_child(void *arg)
{
    struct tn_config c = with(1, "fifo");
    way = arg;
    page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (way->stack != 0)
        c.stack = way->stack;
    tn_run(&c, overflow_one, NULL, NULL);
    return NO_FAULT;
}

static int overflow(struct overflow o)
{
    char err[256];
    int status = harness_child(overflow_child, &o, err, sizeof err);
    bool good = exited(status, ON_GUARD) || exited(status, ON_GUARD_ALONE);
    if (!CHECK(good))
        harness_note("stack %lld, %zu, fibre %u: status %x (%x: elsewhere, %x: a neighbour is damaged) %s",
                     (long long)o.stack, o.unusual, o.who, (unsigned)status, ELSEWHERE << 8, DAMAGED << 8, err);
    return status;
}

static void test_guard(void)
{
    unsigned alone = 0;
    if (build_has("sanitize=address") || build_has("sanitize=thread"))
        SKIP("the sanitizer handles the signal itself");
    if (build_has("stacks=malloc") || build_has("stacks=split"))
        SKIP("stacks without guards");
    for (unsigned who = 0; who < CROWD; who += 3) /* more than a slab has; the 30th is the highest of the first */
        alone += !exited(overflow((struct overflow){.who = who}), ON_GUARD);
    CHECK(alone <= 3); /* the lowest of each slab, and who is above the fibre that spawned them */
    for (unsigned who = 0; who < 2; who++) {
        overflow((struct overflow){.stack = 65536, .who = who});
        overflow((struct overflow){.stack = 20000, .who = who});
        overflow((struct overflow){.stack = 262144, .who = who});
        overflow((struct overflow){.unusual = 16384, .who = who});
        overflow((struct overflow){.unusual = 131072, .who = who});
        overflow((struct overflow){.unusual = 1 << 20, .who = who});
    }
}

/* ---- stacks come back ---- */

enum { ROUNDS = 100000, FEW_ROUNDS = 3000, SEEN = 512, KEPT = 300 };

static bool few; /* where a life takes long */
static int wrong;

static tn_fibre *seen[SEEN];
static unsigned n_seen;
static atomic_bool ended;

static void *end(void *arg)
{
    tn_fibre *self = tn_fibre_self();
    unsigned i = 0;
    while (i < n_seen && seen[i] != self)
        i++;
    if (i == n_seen && n_seen < SEEN)
        seen[n_seen++] = self;
    atomic_store(&ended, true);
    return arg;
}

static void *end_by_exit(void *arg)
{
    tn_exit(end(arg));
}

/* With one worker, whoever has told that it ends has ended when its spawner goes on. */
static void await_end(void)
{
    while (!atomic_load(&ended))
        tn_yield();
}

static void by_join(void)
{
    tn_fibre *f;
    wrong |= tn_spawn(&f, NULL, end, NULL);
    wrong |= tn_join(f, NULL);
}

static void by_late_join(void)
{
    tn_fibre *f;
    wrong |= tn_spawn(&f, NULL, end, NULL);
    await_end();
    wrong |= tn_join(f, NULL);
}

static void by_timed_join(void)
{
    tn_fibre *f;
    wrong |= tn_spawn(&f, NULL, end_by_exit, NULL);
    wrong |= tn_join_until(f, NULL, TN_FOREVER - 1, NULL);
}

static void detached(void)
{
    wrong |= tn_spawn(NULL, NULL, end, NULL);
    await_end();
}

static void by_detach(void)
{
    tn_fibre *f;
    wrong |= tn_spawn(&f, NULL, end_by_exit, NULL);
    wrong |= tn_detach(f);
    await_end();
}

static void by_late_detach(void)
{
    tn_fibre *f;
    wrong |= tn_spawn(&f, NULL, end, NULL);
    await_end();
    wrong |= tn_detach(f);
}

static void unusual(void)
{
    tn_fibre *f;
    wrong |= tn_spawn(&f, &(struct tn_attr){.stack = 131072}, end, NULL);
    wrong |= tn_join(f, NULL);
}

struct life {
    const char *name;
    void (*once)(void);
};

static void *many_lives(void *arg)
{
    const struct life *life = arg;
    unsigned rounds = few || !build_has("sanitize=none") || !build_has("stacks=pooled") ? FEW_ROUNDS : ROUNDS;
    uint64_t refills = counter(tn_cluster_self(), "stack_refill");
    n_seen = 0;
    wrong = 0;
    for (unsigned i = 0; i < rounds && n_seen < SEEN; i++) { /* a leak ends it, before the memory does */
        atomic_store(&ended, false);
        life->once();
    }
    refills = counter(tn_cluster_self(), "stack_refill") - refills;
    bool good = CHECK_EQUAL(wrong, 0);
    good = CHECK(n_seen <= KEPT) && good;
    if (counting())
        good = CHECK(refills <= 4) && good;
    if (!good)
        harness_note("%s: %u fibres, %u refills", life->name, n_seen, (unsigned)refills);
    return NULL;
}

static void test_lives(void)
{
    static struct life lives[] = {
        {"join", by_join},
        {"join of an ended one", by_late_join},
        {"join with a deadline", by_timed_join},
        {"detached", detached},
        {"detach", by_detach},
        {"detach of an ended one", by_late_detach},
        {"unusual size", unusual},
    };
    struct tn_config c = with(1, "fifo");
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++)
        CHECK_EQUAL(tn_run(&c, many_lives, &lives[i], NULL), 0);
}

static void test_lives_from_thread(void)
{
    struct tn_config c = with(1, "fifo");
    tn_runtime *rt;
    tn_fibre *f;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    n_seen = 0;
    for (unsigned i = 0; i < FEW_ROUNDS && n_seen < SEEN; i++) {
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, end, NULL), 0);
        CHECK_EQUAL(tn_join(f, NULL), 0);
    }
    CHECK(n_seen <= KEPT);
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void *refused(void *arg)
{
    uint64_t refills = counter(tn_cluster_self(), "stack_refill");
    tn_fibre *f;
    CHECK_EQUAL(tn_spawn(NULL, NULL, end, NULL), 0);
    for (unsigned i = 0; i < FEW_ROUNDS; i++)
        CHECK_EQUAL(tn_spawn(&f, NULL, end, NULL), EAGAIN);
    CHECK(counter(tn_cluster_self(), "stack_refill") - refills <= 4);
    return arg;
}

static void test_refused(void)
{
    struct tn_config c = with(1, "fifo:full=refuse:private=0:capacity=1");
    if (migration_forced() || !counting())
        SKIP("it is told by counters of a plain build");
    CHECK_EQUAL(tn_run(&c, refused, NULL, NULL), 0);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"a guard kills, right below the stack", test_guard},
        {"stacks come back", test_lives},
        {"stacks come back, from a plain thread", test_lives_from_thread},
        {"the stack of a refused fibre comes back", test_refused},
    };
    few = argc > 1 && strcmp(argv[1], "--few") == 0;
    return HARNESS_RUN("stack", tests);
}
