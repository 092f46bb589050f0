/* SPDX-License-Identifier: MIT
 *
 * Which calls are cancellation points, and which are not: each function of the public headers has its place in one of
 * three lists here and, if it can wait, in the table of docs/groups.md; and each that can wait is called by a member
 * whose group is cancelled, and by one that lies in a group whose deadline comes. (Those of tenter_io.h: test_io_points.c.)
 *
 *     test_points GROUPS.MD HEADER...
 */
#include "sync.h"

#include "points.h"
#include "tenter_channel.h"
#include "tenter_group.h"

static tn_mutex held, mutex;
static tn_local_mutex local_held;
static tn_sem sem;
static tn_cond cond;
static tn_rwlock written;
static tn_barrier barrier;
static tn_latch latch;
static tn_once once;
static tn_promise promise;
static tn_channel channel;
static tn_group group; /* that others are members of */
static tn_fibre *other;
static tn_cluster *second;
static _Atomic(int) there, let_go;

static void *until_let_go(void *arg)
{
    atomic_fetch_add(&there, 1);
    while (atomic_load(&let_go) == 0)
        tn_yield();
    return arg;
}
static void *sleeps_until_let_go(void *arg)
{
    while (atomic_load(&let_go) == 0)
        nap_us(500);
    return arg;
}
static void until_let_go_once(void)
{
    until_let_go(NULL);
}
static void *does_once(void *arg)
{
    tn_once_do(&once, until_let_go_once);
    return arg;
}
static void publish_nowhere(tn_waiter waiter, void *arg)
{
    (void)waiter, (void)arg;
}

/* ---- the points: nobody will end these waits ---- */

static int p_spawn(void)
{
    struct tn_attr attr = {.full = TN_FULL_WAIT};
    int rc;
    while ((rc = tn_spawn(NULL, &attr, until_let_go, NULL)) == 0)
        ;
    return rc;
}
static int p_join(void)
{
    return tn_join(other, NULL);
}
static int p_join_until(void)
{
    return tn_join_until(other, NULL, TN_FOREVER, NULL);
}
static int p_sleep(void)
{
    return tn_sleep(UINT64_C(3600000000000));
}
static int p_sleep_until(void)
{
    return tn_sleep_until(TN_FOREVER, NULL);
}
static int p_wait(void)
{
    tn_wait_prepare();
    return tn_wait(TN_FOREVER, NULL);
}
static int p_suspend(void)
{
    return tn_suspend(publish_nowhere, NULL, TN_FOREVER, NULL);
}
static int p_mutex(void)
{
    return tn_mutex_lock_until(&held, TN_FOREVER, NULL);
}
static int p_local_mutex(void)
{
    return tn_local_mutex_lock_until(&local_held, TN_FOREVER, NULL);
}
static int p_sem(void)
{
    return tn_sem_wait(&sem);
}
static int p_sem_until(void)
{
    return tn_sem_wait_until(&sem, 1, TN_FOREVER, NULL);
}
static int in_cond(bool until)
{
    tn_mutex_lock(&mutex);
    int rc = until ? tn_cond_wait_until(&cond, &mutex, TN_FOREVER, NULL) : tn_cond_wait(&cond, &mutex);
    return tn_mutex_unlock(&mutex) == 0 ? rc : -1;
}
static int p_cond(void)
{
    return in_cond(false);
}
static int p_cond_until(void)
{
    return in_cond(true);
}
static int p_rdlock(void)
{
    return tn_rwlock_rdlock_until(&written, TN_FOREVER, NULL);
}
static int p_wrlock(void)
{
    return tn_rwlock_wrlock_until(&written, TN_FOREVER, NULL);
}
static int p_barrier(void)
{
    return tn_barrier_wait(&barrier);
}
static int p_barrier_until(void)
{
    return tn_barrier_wait_until(&barrier, TN_FOREVER, NULL);
}
static int p_latch(void)
{
    return tn_latch_wait(&latch);
}
static int p_latch_until(void)
{
    return tn_latch_wait_until(&latch, TN_FOREVER, NULL);
}
static int p_once(void)
{
    return tn_once_until(&once, until_let_go_once, TN_FOREVER, NULL);
}
static int p_promise(void)
{
    return tn_promise_get_until(&promise, NULL, TN_FOREVER, NULL);
}
static int p_all(void)
{
    tn_promise *const all[] = {&promise};
    return tn_promise_all(all, 1, TN_FOREVER, NULL);
}
static int p_send(void)
{
    int item = 1;
    return tn_channel_send(&channel, &item);
}
static int p_send_until(void)
{
    int item = 1;
    return tn_channel_send_until(&channel, &item, TN_FOREVER, NULL);
}
static int p_receive(void)
{
    int item;
    return tn_channel_receive(&channel, &item);
}
static int p_receive_until(void)
{
    int item;
    return tn_channel_receive_until(&channel, &item, TN_FOREVER, NULL);
}
static int p_select(void)
{
    int item;
    unsigned which;
    struct tn_arm arm = TN_RECEIVE(&channel, &item);
    return tn_select(&arm, 1, &which, TN_FOREVER, NULL);
}

/* ---- no points: the wait is over when there is what it is for ---- */

static int n_mutex(void)
{
    int rc = tn_mutex_lock(&held);
    return rc != 0 ? rc : tn_mutex_unlock(&held);
}
static int n_local_mutex(void)
{
    int rc = tn_local_mutex_lock(&local_held);
    return rc != 0 ? rc : tn_local_mutex_unlock(&local_held);
}
static int n_rdlock(void)
{
    int rc = tn_rwlock_rdlock(&written);
    return rc != 0 ? rc : tn_rwlock_unlock(&written);
}
static int n_wrlock(void)
{
    int rc = tn_rwlock_wrlock(&written);
    return rc != 0 ? rc : tn_rwlock_unlock(&written);
}
static int n_once(void)
{
    return tn_once_do(&once, until_let_go_once);
}
static int n_promise(void)
{
    return tn_promise_get(&promise) == &promise ? 0 : -1;
}
static int n_blocking(void)
{
    return tn_blocking(sleeps_until_let_go, NULL, NULL);
}
static int n_group(void)
{
    return tn_group_close(&group);
}

/* Of these nothing is waited for but a turn. */
static int n_yield(void)
{
    tn_yield();
    return 0;
}
static int n_yield_hard(void)
{
    tn_yield_hard();
    return 0;
}
static int n_migrate(void)
{
    tn_cluster *here = tn_cluster_self();
    int rc = tn_migrate(second);
    return rc != 0 ? rc : tn_migrate(here);
}
static int n_stage(void)
{
    return tn_stage(0);
}

/* What a function's row says: is it a point? If it is none, is it held up by what let_go is for? */
enum kind { POINT, HELD_UP, TURN };
static const struct row {
    const char *name;
    int (*call)(void);
    enum kind kind;
} rows[] = {
    {"tn_spawn", p_spawn, POINT},
    {"tn_join", p_join, POINT},
    {"tn_join_until", p_join_until, POINT},
    {"tn_sleep", p_sleep, POINT},
    {"tn_sleep_until", p_sleep_until, POINT},
    {"tn_wait", p_wait, POINT},
    {"tn_suspend", p_suspend, POINT},
    {"tn_mutex_lock_until", p_mutex, POINT},
    {"tn_local_mutex_lock_until", p_local_mutex, POINT},
    {"tn_sem_wait", p_sem, POINT},
    {"tn_sem_wait_until", p_sem_until, POINT},
    {"tn_cond_wait", p_cond, POINT},
    {"tn_cond_wait_until", p_cond_until, POINT},
    {"tn_rwlock_rdlock_until", p_rdlock, POINT},
    {"tn_rwlock_wrlock_until", p_wrlock, POINT},
    {"tn_barrier_wait", p_barrier, POINT},
    {"tn_barrier_wait_until", p_barrier_until, POINT},
    {"tn_latch_wait", p_latch, POINT},
    {"tn_latch_wait_until", p_latch_until, POINT},
    {"tn_once_until", p_once, POINT},
    {"tn_promise_get_until", p_promise, POINT},
    {"tn_promise_all", p_all, POINT},
    {"tn_channel_send", p_send, POINT},
    {"tn_channel_send_until", p_send_until, POINT},
    {"tn_channel_receive", p_receive, POINT},
    {"tn_channel_receive_until", p_receive_until, POINT},
    {"tn_select", p_select, POINT},
    {"tn_mutex_lock", n_mutex, HELD_UP},
    {"tn_local_mutex_lock", n_local_mutex, HELD_UP},
    {"tn_rwlock_rdlock", n_rdlock, HELD_UP},
    {"tn_rwlock_wrlock", n_wrlock, HELD_UP},
    {"tn_once_do", n_once, HELD_UP},
    {"tn_promise_get", n_promise, HELD_UP},
    {"tn_blocking", n_blocking, HELD_UP},
    {"tn_group_close", n_group, HELD_UP},
    {"tn_yield", n_yield, TURN},
    {"tn_yield_hard", n_yield_hard, TURN},
    {"tn_migrate", n_migrate, TURN},
    {"tn_stage", n_stage, TURN},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* Of plain threads, brief, or without a wait. */
static const char others[] =
    " tn_start tn_stop tn_run tn_cluster_create tn_cluster_first tn_workers_add tn_workers_remove tn_worker_self "
    "tn_worker_thread tn_workers "
    "tn_detach "
    "tn_exit tn_stack_size tn_stack_used tn_stack_peak tn_fibre_self tn_fibre_name tn_cluster_self tn_errno "
    "tn_preempt_mask tn_local_set tn_local_get tn_wait_prepare tn_wait_note tn_wake tn_token_init tn_token_fire "
    "tn_token_fired tn_now tn_work tn_work_calibrate tn_counters tn_dump tn_describe tn_describe_cluster "
    "tn_mutex_init tn_mutex_destroy tn_mutex_trylock tn_mutex_unlock tn_local_mutex_init tn_local_mutex_destroy "
    "tn_local_mutex_trylock tn_local_mutex_unlock tn_sem_init tn_sem_destroy tn_sem_trywait tn_sem_trywait_n "
    "tn_sem_post tn_sem_post_n tn_sem_value tn_cond_init tn_cond_destroy tn_cond_signal tn_cond_broadcast "
    "tn_rwlock_init tn_rwlock_destroy tn_rwlock_tryrdlock tn_rwlock_trywrlock tn_rwlock_unlock tn_barrier_init "
    "tn_barrier_destroy tn_latch_init tn_latch_destroy tn_latch_up tn_latch_down tn_latch_trywait tn_promise_init "
    "tn_promise_destroy tn_promise_set tn_promise_tryget tn_channel_init tn_channel_destroy tn_channel_trysend "
    "tn_channel_tryreceive tn_channel_close tn_group_open tn_group_bound tn_group_cancel tn_cancelled tn_cancel_mask "
    "tn_cleanup_push tn_cleanup_pop ";

/* ---- what they do ---- */

/* How a member is told: before it calls (then no wait of it begins); while it waits; or by the deadline of the group around
 * its own, which it inherits. */
enum way { BEFORE, MEANWHILE, LATE, WAYS };
static enum way way;
static _Atomic(int) began, ended;

static void *calls(void *row)
{
    const struct row *r = row;
    while ((way == BEFORE || r->kind != POINT) && tn_cancelled() == 0)
        tn_yield();
    atomic_store(&began, 1);
    int rc = r->call();
    if (!CHECK_EQUAL(rc, r->kind != POINT ? 0 : way == LATE ? ETIMEDOUT : ECANCELED))
        harness_note("%s, way %d", r->name, way);
    atomic_store(&ended, 1);
    return NULL;
}

/* What each waits for, held by a fibre of another cluster. */
static void *holds(void *arg)
{
    CHECK_EQUAL(tn_mutex_lock(&held), 0);
    CHECK_EQUAL(tn_rwlock_wrlock(&written), 0);
    until_let_go(NULL);
    CHECK_EQUAL(tn_promise_set(&promise, &promise), 0);
    CHECK_EQUAL(tn_rwlock_unlock(&written), 0);
    CHECK_EQUAL(tn_mutex_unlock(&held), 0);
    return arg;
}
static void *holds_local(void *arg)
{
    CHECK_EQUAL(tn_local_mutex_lock(&local_held), 0);
    until_let_go(NULL);
    CHECK_EQUAL(tn_local_mutex_unlock(&local_held), 0);
    return arg;
}

static tn_fibre *start(tn_cluster *cluster, tn_group *g, void *(*fn)(void *), void *arg)
{
    tn_fibre *f = NULL;
    struct tn_attr attr = {.cluster = cluster, .group = g};
    CHECK_EQUAL(tn_spawn(&f, &attr, fn, arg), 0);
    return f;
}

/* A member that opens a group of its own, without a deadline. */
static void *nests(void *row)
{
    tn_group within;
    tn_group_open(&within, TN_FOREVER);
    start(tn_cluster_self(), &within, calls, row);
    CHECK_EQUAL(tn_group_close(&within), way == LATE ? 0 : ECANCELED);
    return NULL;
}

static void one(const struct row *r)
{
    tn_group g;
    tn_cluster *first = tn_cluster_first(rt);
    atomic_store(&began, 0), atomic_store(&ended, 0), atomic_store(&there, 0), atomic_store(&let_go, 0);
    CHECK_EQUAL(tn_mutex_init(&held, NULL), 0);
    CHECK_EQUAL(tn_mutex_init(&mutex, NULL), 0);
    CHECK_EQUAL(tn_local_mutex_init(&local_held, first), 0);
    CHECK_EQUAL(tn_sem_init(&sem, 0, 0), 0);
    tn_cond_init(&cond);
    CHECK_EQUAL(tn_rwlock_init(&written, TN_RWLOCK_FAIR), 0);
    CHECK_EQUAL(tn_barrier_init(&barrier, 2), 0);
    tn_latch_init(&latch, 1);
    once = (tn_once)TN_ONCE_INIT;
    tn_promise_init(&promise);
    CHECK_EQUAL(tn_channel_init(&channel, NULL, sizeof(int), 0), 0);
    tn_group_open(&group, TN_FOREVER);

    tn_fibre *in_local = start(first, NULL, holds_local, NULL);
    tn_fibre *has = start(second, NULL, holds, NULL), *does = start(second, NULL, does_once, NULL);
    other = start(second, NULL, until_let_go, NULL);
    start(second, &group, until_let_go, NULL);
    CHECK(EVENTUALLY(atomic_load(&there) == 5)); /* each has what it is to have */
    tn_group_open(&g, way == LATE ? tn_now() + 3000000 : TN_FOREVER);
    tn_fibre *f = start(first, &g, way == LATE ? nests : calls, (void *)(uintptr_t)r);
    if (way == MEANWHILE && r->kind == POINT) {
        CHECK(EVENTUALLY(atomic_load(&began) == 1));
        nap_us(500); /* as a rule it waits */
    }
    if (way != LATE)
        tn_group_cancel(&g);
    CHECK(EVENTUALLY(atomic_load(&began) == 1));
    if (r->kind == HELD_UP) {
        nap_us(3000);
        if (!CHECK_EQUAL(atomic_load(&ended), 0))
            harness_note("%s does not wait", r->name);
        atomic_store(&let_go, 1);
    }
    if (!CHECK(EVENTUALLY(atomic_load(&ended) == 1)))
        harness_note("%s is not told", r->name);
    atomic_store(&let_go, 1);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    CHECK_EQUAL(tn_group_close(&g), way == LATE ? 0 : ECANCELED);
    CHECK_EQUAL(tn_join(in_local, NULL), 0);
    CHECK_EQUAL(tn_join(has, NULL), 0);
    CHECK_EQUAL(tn_join(does, NULL), 0);
    CHECK_EQUAL(tn_join(other, NULL), 0); /* whoever gave up has left it as it was */
    if (r->call != n_group)
        CHECK_EQUAL(tn_group_close(&group), 0);
}

static void test_rows(void)
{
    for (size_t i = 0; i < ROWS * WAYS; i++) {
        const struct row *r = &rows[i / WAYS];
        struct tn_config c = with(1, "fifo:layout=global:full=refuse:capacity=16");
        way = (enum way)(i % WAYS);
        if (way == MEANWHILE && r->kind != POINT)
            continue; /* it is no other way */
        c.slots = 1;
        CHECK_EQUAL(tn_start(&rt, &c), 0);
        c.scheduler = "fifo";
        CHECK_EQUAL(tn_cluster_create(rt, &c, &second), 0);
        one(r);
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

/* ---- each has its place ---- */

static const struct row *row_of(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static unsigned functions;

static void has_place(const char *name)
{
    char word[80];
    snprintf(word, sizeof word, " %s ", name);
    if (!CHECK((row_of(name) != NULL) != (strstr(others, word) != NULL)))
        harness_note("%s: in one list, please", name);
    functions++;
}

static void test_places(void)
{
    static const char *const begins[] = {[POINT] = "| yes |", [HELD_UP] = "| no |", [TURN] = "| no |"};
    for (int i = 1; i < n_files; i++)
        each_function(files[i], has_place);
    CHECK(functions > ROWS);
    for (size_t i = 0; i < ROWS; i++)
        if (!CHECK(said(rows[i].name, begins[rows[i].kind])))
            harness_note("%s: docs/groups.md does not say so", rows[i].name);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"each function has its place", test_places},
        {"what is a point, and what is none", test_rows},
    };
    points_files(argc - 1, argv + 1);
    return HARNESS_RUN("points", tests);
}
