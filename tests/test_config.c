/* SPDX-License-Identifier: MIT
 *
 * Knobs of the runtime: the environment, ranges, messages that name the nearest name or the range; what a
 * build and a cluster say of themselves.
 */
#include "harness.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages ---- */

struct attempt {
    struct tn_config config;
    const char *variable, *value;
};

static int try_start(void *arg)
{
    const struct attempt *a = arg;
    tn_runtime *rt;
    if (a->variable != NULL)
        setenv(a->variable, a->value, 1);
    int rc = tn_start(&rt, &a->config);
    if (rc == 0)
        tn_stop(rt);
    return rc;
}

/* It fails with EINVAL and one line on standard error that holds both texts. */
static void refused(struct attempt a, const char *text, const char *also)
{
    char err[1024];
    int status = harness_child(try_start, &a, err, sizeof err);
    char *end = strchr(err, '\n');
    bool one_line = end != NULL && end[1] == '\0';
    bool good = CHECK(exited(status, EINVAL));
    good = CHECK(one_line) && good;
    good = CHECK(strstr(err, text) != NULL) && good;
    good = CHECK(strstr(err, also) != NULL) && good;
    if (!good)
        harness_note("wanted '%s' and '%s'; status %x, message: %s", text, also, (unsigned)status, err);
}

static void accepted(struct attempt a)
{
    char err[1024];
    int status = harness_child(try_start, &a, err, sizeof err);
    bool good = CHECK(exited(status, 0));
    good = CHECK(err[0] == '\0') && good;
    if (!good)
        harness_note("status %x, message: %s", (unsigned)status, err);
}

static const struct knob {
    const char *name;
    size_t offset;
    int64_t low, high;
} knobs[] = {
    {"workers", offsetof(struct tn_config, workers), 0, 4096},
    {"slots", offsetof(struct tn_config, slots), 0, 4096},
    {"stack", offsetof(struct tn_config, stack), 16384, INT64_C(1) << 30},
    {"idle", offsetof(struct tn_config, idle), 0, 2},
    {"spin_us", offsetof(struct tn_config, spin_us), 0, 1000000},
    {"pin", offsetof(struct tn_config, pin), 0, 1},
    {"on_demand", offsetof(struct tn_config, on_demand), 0, 1},
    {"seed", offsetof(struct tn_config, seed), 0, INT64_MAX},
    {"pool", offsetof(struct tn_config, pool), 1, 4096},
    {"pool_ms", offsetof(struct tn_config, pool_ms), 0, 1000000},
    {"monitor_us", offsetof(struct tn_config, monitor_us), 0, 1000000},
    {"preempt_us", offsetof(struct tn_config, preempt_us), 0, 1000000},
    {"deadlock", offsetof(struct tn_config, deadlock), 0, 2},
    {"stall_ms", offsetof(struct tn_config, stall_ms), 0, 1 << 30},
    {"sigquit", offsetof(struct tn_config, sigquit), 0, 2},
};

static void test_ranges(void)
{
    for (size_t i = 0; i < sizeof knobs / sizeof *knobs; i++) {
        char high[32], variable[32] = "TENTER_";
        struct attempt a = {.config = TN_CONFIG_INIT};
        int64_t *field = (int64_t *)(void *)((char *)&a.config + knobs[i].offset);
        snprintf(high, sizeof high, "%lld", (long long)knobs[i].high);
        *field = knobs[i].low - 1;
        refused(a, knobs[i].name, high);
        if (knobs[i].high < INT64_MAX) {
            *field = knobs[i].high + 1;
            refused(a, knobs[i].name, high);
        }
        *field = TN_UNSET;
        for (size_t k = 0; knobs[i].name[k] != '\0'; k++)
            variable[7 + k] = (char)toupper(knobs[i].name[k]);
        a.variable = variable;
        a.value = "-7";
        const char *range = strcmp(knobs[i].name, "idle") == 0       ? "block|spin|spin-block"
                            : strcmp(knobs[i].name, "deadlock") == 0 ? "off|dump|abort"
                            : strcmp(knobs[i].name, "sigquit") == 0  ? "off|dump|die"
                                                                     : high;
        refused(a, variable, range);
        a.value = "many";
        refused(a, variable, range);
        *field = knobs[i].low; /* also where the program has set the knob, and the variable would have no effect */
        refused(a, variable, range);
        a.value = "99999999999999999999";
        refused(a, variable, range);
    }
}

static void test_environment(void)
{
    static const struct {
        const char *variable, *value;
    } good[] = {
        {"TENTER_WORKERS", "1"},
        {"TENTER_SLOTS", "9"},
        {"TENTER_STACK", "64K"},
        {"TENTER_STACK", "0x8000"},
        {"TENTER_IDLE", "block"},
        {"TENTER_IDLE", "spin-block"},
        {"TENTER_SPIN_US", "7"},
        {"TENTER_PIN", "1"},
        {"TENTER_ON_DEMAND", "1"},
        {"TENTER_SEED", "12345"},
        {"TENTER_POOL", "3"},
        {"TENTER_POOL_MS", "5"},
        {"TENTER_MONITOR_US", "500"},
        {"TENTER_POLLER", TEST_POLLER},
        {"TENTER_POLLER", TEST_IN_POLLER != NULL ? TEST_IN_POLLER : TEST_POLLER},
        {"TENTER_MEMBARRIER", "1"},
        {"TENTER_GUARDS", "mprotect"},
        {"TENTER_TEST_ONLY", "anything"},
        {"TENTERTAIN", "not ours"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        accepted((struct attempt){.config = TN_CONFIG_INIT, .variable = good[i].variable, .value = good[i].value});
    /* What the program sets counts before the environment. */
    accepted((struct attempt){.config = with(1, NULL), .variable = "TENTER_WORKERS", .value = "4096"});
}

/* The members of TN_CONFIG_INIT stand in the order of those of the struct. */
static void test_unset(void)
{
    const struct tn_config c = TN_CONFIG_INIT;
    const int64_t *member = (const int64_t *)(const void *)&c;
    for (size_t i = 0; i < offsetof(struct tn_config, scheduler) / sizeof *member; i++)
        CHECK(member[i] == TN_UNSET);
    CHECK(c.scheduler == NULL && c.poller == NULL);
}

static void test_names(void)
{
    struct attempt a = {.config = TN_CONFIG_INIT};
    a.config.scheduler = "fif";
    if (build_has("{\"name\":\"fifo\""))
        refused(a, "no scheduler 'fif'", "'fifo'");
    a.config.scheduler = "no such thing";
    refused(a, "no scheduler", "no such thing");
    a.config.scheduler = "./my.so";
    if (!build_has("plugin"))
        refused(a, "no scheduler './my.so'", "plug-ins need one with -Dschedulers=…,plugin");
    a.config.scheduler = NULL;
    a.variable = "TENTER_SCHEDULER";
    a.value = "zzz:capacity=1";
    refused(a, "no scheduler", "zzz");
    a.variable = "TENTER_POLLER";
    a.value = "epol";
    refused(a, "poller", "epol");
    if (TEST_IN_POLLER != NULL) {
        a.value = "worker:prak=word";
        refused(a, "no knob 'prak", "park");
        a.value = "worker:park=words";
        refused(a, "park=words", "word|source");
        a.value = "worker:park";
        refused(a, "park", "park");
    }
    a.variable = "TENTER_GUARDS";
    a.value = "mprotct";
    refused(a, "TENTER_GUARDS=mprotct", "must be mprotect");
    a.variable = "TENTER_MEMBARRIER";
    a.value = "off";
    refused(a, "MEMBARRIER=off", "0|1");
    a.variable = "TENTER_WROKERS"; /* looked at even where the program sets all knobs itself */
    a.value = "4";
    refused(a, "no variable 'TENTER_WROKERS'", "did you mean 'TENTER_WORKERS'?");
    a.variable = "TENTER_SCHEDULERS";
    refused(a, "no variable 'TENTER_SCHEDULERS'", "did you mean 'TENTER_SCHEDULER'?");
    a.variable = "TENTER_WORKERS_TOO_MANY_FOR_ANY_KNOB";
    refused(a, "no variable 'TENTER_WORKERS_TOO_MANY_FOR_ANY_KNOB'", "unset it");
    struct attempt slots = {.config = with(4, NULL)};
    slots.config.slots = 3;
    refused(slots, "slots=3", "workers=4");
}

static void test_settings(void)
{
    struct tn_config c = with(2, NULL);
    tn_runtime *rt;
    char text[4096];
    setenv("TENTER_SPIN_US", "77", 1);
    setenv("TENTER_IDLE", "block", 1);
    setenv("TENTER_STACK", "48K", 1);
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    tn_describe_cluster(tn_cluster_first(rt), text, sizeof text);
    CHECK(strstr(text, "\"spin_us\":77") != NULL);
    CHECK(strstr(text, "\"idle\":\"block\"") != NULL);
    CHECK(strstr(text, "\"stack\":49152") != NULL);
    CHECK_EQUAL(tn_workers(tn_cluster_first(rt)), 2);
    CHECK_EQUAL(tn_stop(rt), 0);
    unsetenv("TENTER_SPIN_US");
    unsetenv("TENTER_IDLE");
    unsetenv("TENTER_STACK");
    CHECK_EQUAL(tn_start(&rt, NULL), 0); /* all defaults */
    tn_describe_cluster(tn_cluster_first(rt), text, sizeof text);
    CHECK(strstr(text, "\"spin_us\":100") != NULL);
    CHECK(tn_workers(tn_cluster_first(rt)) >= 1);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- JSON, checked by a recursive descent over its grammar ---- */

static const char *json_value(const char *s);

static const char *json_string(const char *s)
{
    if (*s++ != '"')
        return NULL;
    for (; *s != '"'; s++) {
        if ((unsigned char)*s < ' ')
            return NULL;
        if (*s == '\\' && (*++s == '\0' || strchr("\"\\/bfnrtu", *s) == NULL))
            return NULL;
    }
    return s + 1;
}

static const char *json_list(const char *s, char end, bool pairs)
{
    if (*++s == end)
        return s + 1;
    for (;; s++) {
        if (pairs && ((s = json_string(s)) == NULL || *s++ != ':'))
            return NULL;
        s = json_value(s);
        if (s == NULL)
            return NULL;
        if (*s == end)
            return s + 1;
        if (*s != ',')
            return NULL;
    }
}

static const char *json_value(const char *s)
{
    static const char *const words[] = {"true", "false", "null"};
    if (*s == '{' || *s == '[')
        return json_list(s, *s == '{' ? '}' : ']', *s == '{');
    if (*s == '"')
        return json_string(s);
    for (int i = 0; i < 3; i++)
        if (strncmp(s, words[i], strlen(words[i])) == 0)
            return s + strlen(words[i]);
    char *end;
    strtod(s, &end);
    return end == s ? NULL : end;
}

static bool is_json(const char *s)
{
    s = json_value(s);
    return s != NULL && *s == '\0';
}

static void test_describe(void)
{
    CHECK(is_json("{\"a\":[1,-2.5,\"x\\n\"],\"b\":{}}") && !is_json("{\"a\":}") && !is_json("[1,]") &&
          !is_json("{}x"));
    size_t n = tn_describe(NULL, 0);
    char *text = malloc(n + 8), small[40];
    if (!CHECK(text != NULL))
        return;
    CHECK_EQUAL(tn_describe(text, n + 8), n);
    CHECK_EQUAL(strlen(text), n);
    CHECK(is_json(text));
    CHECK_EQUAL(tn_describe(small, sizeof small), n); /* cut as snprintf does */
    CHECK(strlen(small) == sizeof small - 1 && memcmp(small, text, sizeof small - 1) == 0);
    static const char *const has[] = {"\"version\":",   "\"schedulers\":[", "\"pollers\":[", "\"knobs\":[",
                                      "\"counters\":[", "\"default\":",     "\"range\":",    "\"compiler\":",
                                      "\"context\":",   "\"observe\":",     "\"workers\"",   "\"spin_us\""};
    for (size_t i = 0; i < sizeof has / sizeof *has; i++)
        if (!CHECK(strstr(text, has[i]) != NULL))
            harness_note("%s is missing", has[i]);
    free(text);
}

static void test_describe_cluster(void)
{
    struct tn_config c = with(1, NULL);
    tn_runtime *rt;
    char text[4096];
    c.poller = TEST_IN_POLLER;
    c.idle = TN_IDLE_SPIN;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    size_t n = tn_describe_cluster(tn_cluster_first(rt), NULL, 0);
    CHECK(n < sizeof text);
    CHECK_EQUAL(tn_describe_cluster(tn_cluster_first(rt), text, sizeof text), n);
    CHECK(is_json(text));
    CHECK(TEST_IN_POLLER == NULL || strstr(text, "\"park\":\"source\"") != NULL);
    CHECK(strstr(text, "\"idle\":\"spin\"") != NULL);
    CHECK(strstr(text, "\"scheduler\":\"") != NULL);
    CHECK_EQUAL(tn_stop(rt), 0);
}

/* ---- counters ---- */

/* Until a timer has woken it: on a busy machine a deadline may be past before the wait begins, which then takes none. */
static void *one_timer(void *arg)
{
    uint64_t before = counter(tn_cluster_self(), "timer"), waits = 0;
    for (uint64_t ns = 100000; counter(tn_cluster_self(), "timer") == before && ns < UINT64_C(60000000000); ns *= 2) {
        tn_wait_prepare();
        tn_wait(tn_now() + ns, NULL);
        waits++;
    }
    *(uint64_t *)arg += waits;
    tn_yield();
    return NULL;
}

static void *count_them(void *arg)
{
    tn_cluster *cl = tn_cluster_self();
    uint64_t waits = 0;
    for (int i = 0; i < 10; i++) {
        tn_fibre *f;
        CHECK_EQUAL(tn_spawn(&f, NULL, one_timer, &waits), 0);
        CHECK_EQUAL(tn_join(f, NULL), 0);
    }
    CHECK_EQUAL(counter(cl, "spawn"), 10);
    CHECK_EQUAL(counter(cl, "exit"), 10);
    CHECK_EQUAL(counter(cl, "timer"), 10);
    CHECK_EQUAL(counter(cl, "wait"), waits);
    CHECK_EQUAL(counter(cl, "yield") + counter(cl, "yield_hard"), 10);
    CHECK(counter(cl, "switch") >= 30);
    CHECK_EQUAL(counter(cl, "wake"), 0);
    CHECK_EQUAL(counter(cl, "no such counter"), UINT64_MAX);
    return arg;
}

static void test_counters(void)
{
    struct tn_config c = with(1, NULL);
    struct tn_counter all[TN_COUNTERS_MAX];
    tn_runtime *rt;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    size_t n = tn_counters(tn_cluster_first(rt), all);
    CHECK(counting() ? n >= 19 && n <= TN_COUNTERS_MAX : n == 0);
    for (size_t i = 0; i < n; i++) {
        CHECK(all[i].name[0] != '\0' && all[i].help[0] != '\0');
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(all[i].name, all[k].name) != 0);
    }
    CHECK_EQUAL(tn_stop(rt), 0);
    if (counting())
        CHECK_EQUAL(tn_run(&c, count_them, NULL, NULL), 0);
}

int main(void)
{
    static const struct test tests[] = {
        {"every knob out of its range", test_ranges},
        {"the environment", test_environment},
        {"a config that says nothing", test_unset},
        {"names that nearly exist", test_names},
        {"what is set is what a cluster says", test_settings},
        {"a build describes itself in JSON", test_describe},
        {"a cluster describes itself in JSON", test_describe_cluster},
        {"counters count", test_counters},
    };
    return HARNESS_RUN("config", tests);
}
