/* SPDX-License-Identifier: MIT
 *
 * Plain LIFO livelocks under yields, the shipped lifo does not (003 §4.4.4); a module from outside the tree,
 * bound by its directory and as a plug-in. Arguments: the plug-in's path, and paths of objects that are none.
 */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { YIELDS = 100000 };
static const char *plugin, *no_table, *no_object = "./no-such-module.so";

static bool flag;

static void *set_flag(void *arg)
{
    flag = true;
    return arg;
}

static unsigned *yields_taken;

static void *yield_in_vain(void *arg)
{
    while (!flag && *yields_taken < YIELDS) {
        ++*yields_taken;
        tn_yield();
    }
    return arg;
}

/* One fibre that would set the flag, then two that wait for it by yielding. One worker: deterministic. */
static void *two_wait(void *arg)
{
    tn_fibre *f[3];
    flag = false;
    yields_taken = arg;
    *yields_taken = 0;
    CHECK_EQUAL(tn_spawn(&f[0], NULL, set_flag, NULL), 0);
    CHECK_EQUAL(tn_spawn(&f[1], NULL, yield_in_vain, NULL), 0);
    CHECK_EQUAL(tn_spawn(&f[2], NULL, yield_in_vain, NULL), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(tn_join(f[i], NULL), 0);
    return NULL;
}

static unsigned yields_until_flag(const char *scheduler)
{
    struct tn_config c = with(1, scheduler);
    unsigned yields = 0;
    CHECK_EQUAL(tn_run(&c, two_wait, &yields, NULL), 0);
    harness_note("%s: %u yields ", scheduler, yields);
    return yields;
}

static void test_livelock(void)
{
    CHECK_EQUAL(yields_until_flag("plainlifo"), YIELDS); /* all of them passed, and the flag was not set */
    CHECK(yields_until_flag("lifo") <= 64);
    CHECK(yields_until_flag("lifo:layout=global") <= 64);
    CHECK(yields_until_flag("lifo:private=0") <= 64);
    CHECK(yields_until_flag("fifo") <= 64);
    CHECK(yields_until_flag("skeleton") <= 64);
}

/* ---- plug-ins ---- */

static void test_plugin(void)
{
    if (plugin == NULL)
        SKIP("no plug-in was named");
    CHECK_EQUAL(yields_until_flag(plugin), YIELDS);
    struct tn_config c = with(2, plugin), d = with(1, "fifo");
    tn_runtime *rt;
    tn_cluster *second;
    tn_fibre *f;
    char text[4096];
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    CHECK_EQUAL(tn_cluster_create(rt, &d, &second), 0); /* beside one that is built in */
    tn_describe_cluster(tn_cluster_first(rt), text, sizeof text);
    CHECK(strstr(text, "\"scheduler\":\"plainlifo\"") != NULL);
    for (int i = 0; i < 100; i++) {
        struct tn_attr attr = {.cluster = i % 2 ? second : tn_cluster_first(rt)};
        CHECK_EQUAL(tn_spawn(&f, &attr, set_flag, NULL), 0);
        CHECK_EQUAL(tn_join(f, NULL), 0);
    }
    CHECK_EQUAL(tn_stop(rt), 0);
}

static int try_spec(void *arg)
{
    struct tn_config c = with(1, arg);
    tn_runtime *rt;
    int rc = tn_start(&rt, &c);
    return rc != 0 ? rc : tn_stop(rt);
}

static void test_bad_plugins(void)
{
    const char *const bad[] = {no_object, no_table, "/dev/null", "plug.so"};
    const char *const says[] = {"No such file", "-DTN_PLUGIN", "tenter:", "by a path with a slash"};
    for (int i = 0; i < 4; i++) {
        char err[512];
        if (bad[i] == NULL)
            continue;
        int status = harness_child(try_spec, (void *)(uintptr_t)bad[i], err, sizeof err);
        bool good = CHECK(exited(status, EINVAL));
        good = CHECK(strstr(err, says[i]) != NULL) && good;
        if (!good)
            harness_note("%s: status %x, message: %s", bad[i], (unsigned)status, err);
    }
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"plain LIFO livelocks, the shipped modules do not", test_livelock},
        {"as a plug-in", test_plugin},
        {"plug-ins that are none", test_bad_plugins},
    };
    plugin = argc > 1 ? argv[1] : NULL;
    no_table = argc > 2 ? argv[2] : NULL;
    return HARNESS_RUN("plainlifo", tests);
}
