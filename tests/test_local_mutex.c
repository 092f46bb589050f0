/* SPDX-License-Identifier: MIT
 *
 * The mutex of one worker's fibres: exclusion, order, deadlines and tokens, and that it is used where it may be.
 */
#include "sync.h"

static tn_local_mutex m;
static int inside, sum; /* plain */
static char order[8];
static unsigned n;

static void *uses(void *number)
{
    uint64_t random = harness_seed() + (uintptr_t)number;
    int missed = 0;
    for (int i = 0; i < (stress ? 20000 : 500); i++) {
        bool hurries = harness_random(&random) % 2 == 0;
        int rc = hurries ? tn_local_mutex_lock_until(&m, tn_now() + harness_random(&random) % 40000, NULL)
                         : tn_local_mutex_lock(&m);
        if (rc != 0) {
            CHECK_EQUAL(rc, ETIMEDOUT);
            missed++;
            continue;
        }
        CHECK_EQUAL(inside++, 0);
        if (harness_random(&random) % 3 == 0)
            tn_yield();
        else if (harness_random(&random) % 16 == 0)
            tn_sleep(1000);
        inside--;
        sum++;
        CHECK_EQUAL(tn_local_mutex_unlock(&m), 0);
    }
    sum += missed;
    return NULL;
}

static void *comes(void *name)
{
    CHECK_EQUAL(tn_local_mutex_lock(&m), 0);
    order[n++] = (char)('a' + (char)(uintptr_t)name);
    tn_yield();
    CHECK_EQUAL(tn_local_mutex_unlock(&m), 0);
    return NULL;
}

static int wait_late(tn_time deadline, tn_token *token)
{
    return tn_local_mutex_lock_until(&m, deadline, token);
}

static void *stranger(void *arg)
{
    tn_local_mutex never = {NULL, NULL, NULL}; /* initialised: it is of no cluster */
    CHECK_EQUAL(tn_local_mutex_lock(&never), EPERM);
    CHECK_EQUAL(tn_local_mutex_unlock(&never), EPERM);
    CHECK_EQUAL(tn_local_mutex_lock(&m), EPERM);
    CHECK_EQUAL(tn_local_mutex_trylock(&m), EPERM);
    CHECK_EQUAL(tn_local_mutex_unlock(&m), EPERM);
    return arg;
}

static void *other_fibre(void *arg)
{
    CHECK_EQUAL(tn_local_mutex_trylock(&m), EBUSY);
    CHECK_EQUAL(tn_local_mutex_unlock(&m), EPERM);
    tn_token fired;
    tn_token_init(&fired);
    tn_token_fire(&fired);
    CHECK_EQUAL(wait_late(TN_FOREVER, &fired), ECANCELED);
    CHECK_EQUAL(wait_late(tn_now() + 1000000, NULL), ETIMEDOUT);
    CHECK_EQUAL(wait_late(0, NULL), ETIMEDOUT);
    return arg;
}

static unsigned in_ring(void)
{
    struct node {
        struct node *next;
    } *first = m.ring;
    unsigned found = 0;
    for (struct node *node = first; node != NULL; node = node->next == first ? NULL : node->next)
        found++;
    return found;
}

static void *in_one(void *arg)
{
    tn_fibre *f = NULL;
    struct party p;
    CHECK_EQUAL(tn_local_mutex_init(&m, tn_cluster_self()), 0);
    party(6, 0, uses);
    CHECK_EQUAL(sum, 6 * (stress ? 20000 : 500));

    CHECK_EQUAL(tn_local_mutex_lock(&m), 0);
    CHECK_EQUAL(tn_local_mutex_lock(&m), EDEADLK);
    CHECK_EQUAL(tn_local_mutex_destroy(&m), EBUSY);
    CHECK_EQUAL(tn_spawn(&f, NULL, other_fibre, NULL), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    p = (struct party){.fibres = 3};
    for (uintptr_t i = 0; i < 3; i++) {
        CHECK_EQUAL(tn_spawn(&p.fibre[i], NULL, comes, (void *)i), 0);
        while (in_ring() <= i)
            tn_yield();
    }
    CHECK_EQUAL(tn_local_mutex_unlock(&m), 0);
    CHECK_EQUAL(tn_local_mutex_trylock(&m), EBUSY); /* handed over */
    all_gone(&p);
    CHECK(strcmp(order, "abc") == 0);

    struct tn_config c = with(1, NULL);
    tn_cluster *elsewhere = NULL;
    CHECK_EQUAL(tn_cluster_create(rt, &c, &elsewhere), 0);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.cluster = elsewhere}, stranger, NULL), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
#if TN_LOCK_CHECK
    CHECK_EQUAL(tn_workers_add(tn_cluster_self(), 1), 0);
    CHECK_EQUAL(tn_local_mutex_trylock(&m), EPERM);
#endif
    return arg;
}

static void test_one_worker(void)
{
    struct tn_config c = with(1, NULL);
    c.slots = 2;
    CHECK_EQUAL(sizeof(tn_local_mutex), 24);
    inside = sum = 0;
    n = 0;
    memset(order, 0, sizeof(order));
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    tn_fibre *f = NULL;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, in_one, NULL), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    stranger(NULL); /* a plain thread */
    CHECK_EQUAL(tn_stop(rt), 0);
}

static void test_two_workers(void)
{
    struct tn_config c = with(2, NULL);
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    CHECK_EQUAL(tn_local_mutex_init(&m, tn_cluster_first(rt)), EINVAL);
    CHECK_EQUAL(tn_local_mutex_init(&m, NULL), EINVAL); /* what a thread is told of its own */
    CHECK_EQUAL(tn_stop(rt), 0);
}

static const struct test tests[] = {{"the fibres of one worker", test_one_worker},
                                    {"not of two workers", test_two_workers}};
SYNC_MAIN("local_mutex", tests)
