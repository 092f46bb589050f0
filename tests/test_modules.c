/* SPDX-License-Identifier: MIT
 *
 * Modules with state in each fibre and with as many counters as there is room for, bound by their directory and as
 * plug-ins; and modules that are refused. Arguments: plug-ins made of tests/modules/stateful, see `places`.
 */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What the arguments are, in this order. */
enum { LARGE, MANY_COUNTERS, MANY_KNOBS, LACKS, INIT, HUGE_STATE, ANSWER, PLACES };
static char *const *places;

static void *child(void *arg)
{
    volatile char deep[4096] = {0}; /* down the stack, towards what lies below */
    for (unsigned i = 0; i < 4; i++) {
        deep[i * 64]++;
        tn_yield();
        tn_yield_hard();
    }
    return arg;
}

/* The counters of a module come last, and the one of number i has i for each time that a fibre became ready. */
static void look_at_counters(tn_cluster *cl)
{
    struct {
        struct tn_counter all[TN_COUNTERS_MAX];
        char behind[4096];
    } k;
    memset(k.behind, 0x55, sizeof k.behind);
    size_t n = tn_counters(cl, k.all);
    CHECK(n <= TN_COUNTERS_MAX);
    unsigned over = 0;
    for (size_t i = 0; i < sizeof k.behind; i++)
        over += k.behind[i] != 0x55;
    CHECK_EQUAL(over, 0);
    for (uint64_t i = 2; counting() && i < 24; i++)
        CHECK_EQUAL(k.all[n - 24 + i].value, i * k.all[n - 24 + 1].value);
    CHECK(!counting() || migration_forced() || k.all[n - 24 + 1].value > 0);
}

static void *many(void *arg)
{
    enum { N = 60 };
    tn_fibre *f[N];
    for (int round = 0; round < 3; round++) { /* the memory of fibres that have ended is zeroed anew */
        for (int i = 0; i < N; i++) {
            struct tn_attr attr = {.stack = i % 3 == 0 ? 40960 : 0};
            CHECK_EQUAL(tn_spawn(&f[i], &attr, child, NULL), 0);
        }
        for (int i = 0; i < N; i++)
            CHECK_EQUAL(tn_join(f[i], NULL), 0);
    }
    CHECK(tn_stack_size(tn_fibre_self()) >= 16384 - 2048 - 1024); /* the state has taken nothing of it */
    return arg;
}

static void *many_and_counters(void *arg)
{
    many(arg);
    look_at_counters(tn_cluster_self());
    return arg;
}

static void run_many(const char *scheduler)
{
    struct tn_config c = with(2, scheduler);
    c.stack = 16384;
    CHECK_EQUAL(tn_run(&c, many_and_counters, NULL, NULL), 0);
}

static void test_built_in(void)
{
    run_many("stateful");
}

/* 20000 bytes, more than the stacks have. */
static void test_plugin(void)
{
    run_many(places[LARGE]);
}

static int start(void *scheduler)
{
    struct tn_config c = with(1, scheduler);
    tn_runtime *rt;
    int rc = tn_start(&rt, &c);
    return rc != 0 ? rc : tn_stop(rt);
}

static int add_cluster(void *scheduler)
{
    struct tn_config c = with(1, "fifo"), d = with(1, scheduler);
    tn_runtime *rt;
    tn_cluster *cl;
    int rc = tn_start(&rt, &c);
    if (rc != 0)
        return 99;
    rc = tn_cluster_create(rt, &d, &cl);
    return tn_stop(rt) == 0 ? rc : 99;
}

/* What ready() answers is looked at where a worker is idle. */
static void *beside_idle(void *arg)
{
    for (int i = 0; i < 500; i++) {
        tn_fibre *f;
        tn_sleep(2 * 1000 * 1000);
        CHECK_EQUAL(tn_spawn(&f, NULL, child, NULL), 0);
        CHECK_EQUAL(tn_join(f, NULL), 0);
    }
    return arg;
}

static int run_child(void *scheduler)
{
    struct tn_config c = with(2, scheduler);
    return tn_run(&c, beside_idle, NULL, NULL);
}

static void check_told(int (*fn)(void *), int place, int how, const char *text)
{
    char err[1024];
    int status = harness_child(fn, places[place], err, sizeof err);
    bool good = CHECK(how != 0 ? exited(status, how) : killed(status, 6));
    good = CHECK(strstr(err, text) != NULL) && good;
    if (!good)
        harness_note("%s: status %x, message: %s", places[place], (unsigned)status, err);
}

/* Its fibres would have no room for its state where a module with less was first; where it is first, others follow. */
static void test_second_cluster(void)
{
    check_told(add_cluster, LARGE, EINVAL, "scheduler 'stateful' keeps 20000 bytes with each fibre");
    struct tn_config c = with(1, places[LARGE]), d = with(1, "stateful"), e = with(1, "fifo");
    tn_runtime *rt;
    tn_cluster *second, *third;
    if (!CHECK_EQUAL(tn_start(&rt, &c), 0))
        return;
    CHECK_EQUAL(tn_cluster_create(rt, &d, &second), 0);
    CHECK_EQUAL(tn_cluster_create(rt, &e, &third), 0);
    tn_cluster *const all[] = {tn_cluster_first(rt), second, third};
    for (int i = 0; i < 12; i++) {
        tn_fibre *f;
        CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.cluster = all[i % 3]}, child, NULL), 0);
        CHECK_EQUAL(tn_join(f, NULL), 0);
    }
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void test_refused(void)
{
    check_told(start, MANY_COUNTERS, EINVAL,
               "scheduler 'stateful' is refused, it has more than TN_MODULE_COUNTERS_MAX");
    check_told(start, MANY_KNOBS, EINVAL, "scheduler 'stateful' is refused, it has more than TN_KNOBS_MAX");
    check_told(start, LACKS, EINVAL, "scheduler 'stateful' is refused, its table lacks .drain, .pass");
    check_told(start, INIT, EINVAL, "scheduler 'stateful' is refused, its cluster_init");
    check_told(start, HUGE_STATE, EINVAL, "scheduler 'stateful' is refused, its fibre_size");
}

/* In one line. */
static void test_no_plugin(void)
{
    static char *const paths[] = {"./no-such-plugin.so", "/dev/null"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char err[1024];
        int status = harness_child(start, paths[i], err, sizeof err);
        bool good = CHECK(exited(status, EINVAL));
        good = CHECK(strstr(err, paths[i]) != NULL && strchr(err, '\n') == strrchr(err, '\n')) && good;
        if (!good)
            harness_note("%s: status %x, message: %s", paths[i], (unsigned)status, err);
    }
}

static void test_nonsense(void)
{
    check_told(run_child, ANSWER, 0, "scheduler 'stateful': ready() answered");
}

/* A value without effect would put a name to a result of what has not happened. */
static void test_without_effect(void)
{
    static const struct {
        char *spec;
        const char *knob; /* NULL: all have effect */
    } cases[] = {{"fifo:layout=global:private=0", "private"},
                 {"fifo:layout=global:full=grow", "full"},
                 {"lifo:layout=global:full=chain", "full"},
                 {"fifo:layout=global:full=refuse:capacity=4", NULL},
                 {"fifo:layout=global:steal=one", "steal"},
                 {"lifo:layout=global:least=2", "least"},
                 {"fifo:layout=global:victims=busy", "victims"},
                 {"fifo:nearest=3", "nearest"},
                 {"fifo:nearest=3:victims=topology", "nearest"},
                 {"lifo:nearest=3:victims=nearest", NULL},
                 {"fifo:nearest=15", NULL}, /* the default */
                 {"fifo:layout=global:place=home", "place"},
                 {"fifo:sticky=4", "sticky"},
                 {"fifo:sticky=4:place=home", "sticky"},
                 {"fifo:sticky=4:place=owner", NULL},
                 {"lifo:layout=global:chance=1", "chance"},
                 {"fifo:pool=five", "pool"},
                 {"fifo:pool=five:chance=1", NULL},
                 {"lifo:pool=five:full=global", NULL},
                 {"fifo:pool=five:layout=global", NULL},
                 {"lifo:pool=five:layout=global", "pool"},
                 {"lifo:layout=global:slot=2", "slot"},
                 {"hybrid:slot=2:private=0", "slot"},
                 {"lifo:slot=2:private=0", NULL},
                 {"fifo:layout=global:request=once", "request"},
                 {"fifo:layout=global:spawn=child", NULL},
                 {"hybrid:n=3", "n"},
                 {"hybrid:n=3:policy=switch", NULL},
                 {"hybrid:n=3:policy=reverse", NULL},
                 {"hybrid:p=90:policy=reverse", "p"},
                 {"hybrid:p=90", NULL},
                 {"staged:stages=1:control=7", "control"},
                 {"staged:stages=1:split=9", NULL},
                 {"staged:stages=2:control=7", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char err[256], wanted[64];
        int status = harness_child(start, cases[i].spec, err, sizeof err);
        snprintf(wanted, sizeof wanted, ": %s has no effect here, it needs ",
                 cases[i].knob != NULL ? cases[i].knob : "");
        bool good = cases[i].knob == NULL ? exited(status, 0) : exited(status, EINVAL) && strstr(err, wanted) != NULL;
        if (!good)
            harness_note("%s: status %x, message: %s", cases[i].spec, (unsigned)status, err);
        CHECK(good);
    }
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"state in each fibre, all counters: built in", test_built_in},
        {"the same as a plug-in, larger than the stacks", test_plugin},
        {"a second cluster with more state is refused", test_second_cluster},
        {"what is too much, or missing, is refused", test_refused},
        {"a plug-in that is none is told of in one line", test_no_plugin},
        {"an answer that means nothing ends the program", test_nonsense},
        {"a choice that another leaves without effect is refused", test_without_effect},
    };
    if (argc != PLACES + 1) {
        fprintf(stderr, "usage: test_modules PLUGIN…\n");
        return 2;
    }
    places = argv + 1;
    return HARNESS_RUN("modules", tests);
}
