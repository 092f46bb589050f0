/* SPDX-License-Identifier: MIT
 *
 * Threads that are no workers: each public function works there or says EPERM.
 *
 *     test_foreign HEADER     HEADER is core/tenter.h: no function of it may lack a row in the table
 */
#include "harness.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *header;

static void *echo(void *arg)
{
    return arg;
}

/* ---- the table: who calls is a plain thread, `rt` runs ---- */

static tn_runtime *rt;
static tn_cluster *cl;
static const tn_key key;

static bool may_start(void)
{
    struct tn_config c = with(1, NULL);
    tn_runtime *other = NULL;
    return tn_start(&other, &c) == 0 && tn_stop(other) == 0;
}
static bool may_run(void)
{
    struct tn_config c = with(1, NULL);
    void *value = NULL;
    return tn_run(&c, echo, &c, &value) == 0 && value == &c;
}
static bool may_create_clusters(void)
{
    struct tn_config c = with(1, NULL);
    tn_cluster *other = NULL;
    return tn_cluster_create(rt, &c, &other) == 0 && other != NULL;
}
static bool sees_first(void)
{
    return tn_cluster_first(rt) == cl;
}
static bool may_add(void)
{
    return tn_workers_add(cl, 1) == 0 && tn_workers(cl) == 2;
}
static bool may_remove(void)
{
    return tn_workers_remove(cl, 1) == 0 && tn_workers(cl) == 1;
}
static bool may_count(void)
{
    return tn_workers(cl) == 1;
}
static bool is_no_worker(void)
{
    return tn_worker_self() == -1;
}
static bool may_ask_handles(void)
{
    uintptr_t handle;
    return tn_worker_thread(cl, 0, &handle) == 0;
}
static bool must_say_where(void)
{
    tn_fibre *f, *g = NULL;
    return tn_spawn(&f, NULL, echo, NULL) == EPERM && f == NULL && tn_spawn(NULL, NULL, echo, NULL) == EPERM &&
           tn_spawn(&g, &(struct tn_attr){.cluster = cl}, echo, NULL) == 0 && tn_join(g, NULL) == 0;
}
static bool may_join(void)
{
    tn_fibre *f;
    void *value = NULL;
    return tn_spawn(&f, &(struct tn_attr){.runtime = rt}, echo, &f) == 0 && tn_join(f, &value) == 0 && value == &f;
}
static bool joins_without_deadline(void)
{
    tn_fibre *f;
    if (tn_spawn(&f, &(struct tn_attr){.runtime = rt}, echo, NULL) != 0)
        return false;
    int rc = tn_join_until(f, NULL, tn_now() + 1, NULL); /* it may have ended already */
    return rc == 0 || (rc == EPERM && tn_join_until(f, NULL, TN_FOREVER, NULL) == 0);
}
static bool may_detach(void)
{
    tn_fibre *f;
    return tn_spawn(&f, &(struct tn_attr){.runtime = rt}, echo, NULL) == 0 && tn_detach(f) == 0;
}
static void *exit_value(void *arg)
{
    tn_exit(arg);
}
/* Still there while somebody asks about it. */
static _Atomic(bool) joined;
static void *wait_for_join(void *arg)
{
    while (!atomic_load(&joined))
        tn_yield();
    return arg;
}
static int exit_here(void *arg)
{
    return exit_value(arg) != NULL;
}
static bool is_told_at_exit(void)
{
    char err[512];
    return killed(harness_child(exit_here, NULL, err, sizeof err), 6) && strstr(err, "outside a fibre") != NULL;
}
static bool is_no_fibre(void)
{
    return tn_fibre_self() == NULL;
}
static bool may_ask_names(void)
{
    tn_fibre *f;
    return tn_spawn(&f, &(struct tn_attr){.runtime = rt, .name = "x"}, echo, NULL) == 0 &&
           strcmp(tn_fibre_name(f), "x") == 0 && tn_join(f, NULL) == 0;
}
static bool has_room(size_t (*ask)(const tn_fibre *))
{
    tn_fibre *f;
    atomic_store(&joined, false);
    if (tn_spawn(&f, &(struct tn_attr){.runtime = rt}, wait_for_join, NULL) != 0)
        return false;
    size_t bytes = ask(f);
    atomic_store(&joined, true);
    return bytes < (size_t)1 << 30 && tn_join(f, NULL) == 0; /* 0: this kind of stack cannot tell */
}
static bool may_ask_sizes(void)
{
    return has_room(tn_stack_size);
}
static bool may_ask_use(void)
{
    return has_room(tn_stack_used);
}
static bool may_ask_peak(void)
{
    return tn_stack_peak(rt) < (size_t)1 << 30;
}
static void publish(tn_waiter waiter, void *arg)
{
    (void)waiter;
    *(bool *)arg = true;
}
static bool no_suspension(void)
{
    bool published = false;
    return tn_suspend(publish, &published, TN_FOREVER, NULL) == EPERM && !published;
}
static bool is_in_no_cluster(void)
{
    return tn_cluster_self() == NULL;
}
static bool may_yield(void)
{
    tn_yield();
    return true;
}
static bool may_yield_hard(void)
{
    tn_yield_hard();
    return !tn_preempt_mask(true) && !tn_preempt_mask(false);
}
static bool no_sleep_until(void)
{
    return tn_sleep_until(0, NULL) == EPERM && tn_sleep_until(TN_FOREVER, NULL) == EPERM;
}
static bool no_sleep(void)
{
    return tn_sleep(1) == EPERM;
}
static bool no_migration(void)
{
    return tn_migrate(cl) == EPERM;
}
static bool no_stages(void)
{
    return tn_stage(0) == EPERM && tn_stage(1000) == EPERM;
}
static bool no_locals(void)
{
    return tn_local_set(&key, &rt) == EPERM;
}
static bool gets_no_locals(void)
{
    return tn_local_get(&key) == NULL;
}
static bool prepares_nothing(void)
{
    return tn_wait_prepare().fibre == NULL;
}
static bool notes_nothing(void)
{
    tn_wait_note("nothing", &rt);
    return true;
}
static bool no_wait(void)
{
    return tn_wait(TN_FOREVER, NULL) == EPERM && tn_wait(0, NULL) == EPERM;
}
static bool wakes_nobody(void)
{
    return !tn_wake(tn_wait_prepare());
}
static bool may_blocking(void)
{
    void *value = NULL;
    return tn_blocking(echo, &value, &value) == 0 && value == &value;
}
static tn_token token;
static bool may_init_tokens(void)
{
    tn_token_init(&token);
    return !tn_token_fired(&token);
}
static bool may_fire(void)
{
    tn_token_init(&token);
    tn_token_fire(&token);
    return tn_token_fired(&token);
}
static bool may_look_at_tokens(void)
{
    tn_token_init(&token);
    return !tn_token_fired(&token);
}
static bool has_time(void)
{
    return tn_now() <= tn_now();
}
static bool may_work(void)
{
    tn_work(10);
    return true;
}
static bool may_calibrate(void)
{
    return tn_work_calibrate() > 0;
}
static bool may_read_counters(void)
{
    struct tn_counter all[TN_COUNTERS_MAX];
    return (tn_counters(cl, all) != 0) == counting();
}
static bool may_dump(void)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int rc = tn_dump(fd);
    return close(fd) == 0 && rc == 0;
}
static bool has_errno(void)
{
    errno_set(7);
    bool same = *tn_errno() == 7 && errno == 7;
    errno = 8;
    return same && errno_get() == 8;
}
static bool may_describe(void)
{
    return tn_describe(NULL, 0) > 10;
}
static bool may_describe_clusters(void)
{
    return tn_describe_cluster(cl, NULL, 0) > 10;
}

static const struct row {
    const char *name;
    bool (*check)(void);
} table[] = {
    {"tn_start", may_start},
    {"tn_run", may_run},
    {"tn_cluster_create", may_create_clusters},
    {"tn_cluster_first", sees_first},
    {"tn_workers", may_count},
    {"tn_workers_add", may_add},
    {"tn_workers_remove", may_remove},
    {"tn_worker_self", is_no_worker},
    {"tn_worker_thread", may_ask_handles},
    {"tn_spawn", must_say_where},
    {"tn_join", may_join},
    {"tn_join_until", joins_without_deadline},
    {"tn_detach", may_detach},
    {"tn_exit", is_told_at_exit},
    {"tn_fibre_self", is_no_fibre},
    {"tn_fibre_name", may_ask_names},
    {"tn_stack_size", may_ask_sizes},
    {"tn_stack_used", may_ask_use},
    {"tn_stack_peak", may_ask_peak},
    {"tn_cluster_self", is_in_no_cluster},
    {"tn_errno", has_errno},
    {"tn_yield", may_yield},
    {"tn_yield_hard", may_yield_hard},
    {"tn_preempt_mask", may_yield_hard},
    {"tn_sleep_until", no_sleep_until},
    {"tn_sleep", no_sleep},
    {"tn_migrate", no_migration},
    {"tn_stage", no_stages},
    {"tn_local_set", no_locals},
    {"tn_local_get", gets_no_locals},
    {"tn_wait_prepare", prepares_nothing},
    {"tn_wait_note", notes_nothing},
    {"tn_wait", no_wait},
    {"tn_suspend", no_suspension},
    {"tn_wake", wakes_nobody},
    {"tn_blocking", may_blocking},
    {"tn_token_init", may_init_tokens},
    {"tn_token_fire", may_fire},
    {"tn_token_fired", may_look_at_tokens},
    {"tn_now", has_time},
    {"tn_work", may_work},
    {"tn_work_calibrate", may_calibrate},
    {"tn_counters", may_read_counters},
    {"tn_dump", may_dump},
    {"tn_describe", may_describe},
    {"tn_describe_cluster", may_describe_clusters},
    {"tn_stop", may_start}, /* last; its own runtime: the end of test_table */
};
enum { ROWS = sizeof table / sizeof *table };

static void *call_all(void *arg)
{
    for (size_t i = 0; i < ROWS; i++)
        if (!(arg != NULL && strcmp(table[i].name, "tn_exit") == 0)) /* no fork where a pool runs */
            if (!CHECK(table[i].check()))
                harness_note("%s on a %s", table[i].name, arg != NULL ? "thread of the pool" : "plain thread");
    return NULL;
}

static void *call_all_in_pool(void *arg)
{
    CHECK_EQUAL(tn_blocking(call_all, arg, NULL), 0);
    return NULL;
}

static void test_table(void)
{
    struct tn_config c = with(1, NULL);
    tn_fibre *f;
    if (migration_forced() && build_has("sanitize=thread"))
        harness_watchdog(200);
    CHECK(is_told_at_exit()); /* forks: before there are workers */
    c.slots = 8;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    cl = tn_cluster_first(rt);
    call_all(rt);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, call_all_in_pool, rt), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void test_table_is_whole(void)
{
    char line[512];
    unsigned found = 0;
    FILE *in = header != NULL ? fopen(header, "r") : NULL;
    if (!CHECK(in != NULL))
        return;
    while (fgets(line, sizeof line, in) != NULL) {
        char *at = strstr(line, "TN_API ");
        char *open = at != NULL ? strchr(at, '(') : NULL;
        if (open == NULL || line[0] == '#')
            continue;
        char *name = open;
        while (name > line && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
            name--;
        *open = '\0';
        bool there = false;
        for (size_t i = 0; i < ROWS; i++)
            there = there || strcmp(table[i].name, name) == 0;
        if (!CHECK(there))
            harness_note("no row for %s", name);
        found++;
    }
    fclose(in);
    CHECK_EQUAL(found, ROWS);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"each function works on a plain thread or says EPERM", test_table},
        {"the table has a row for each function", test_table_is_whole},
    };
    header = argc > 1 ? argv[1] : NULL;
    return HARNESS_RUN("foreign", tests);
}
