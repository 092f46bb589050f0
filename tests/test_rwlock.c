/* SPDX-License-Identifier: MIT
 *
 * Reader-writer locks: one body for every kind. Writers are alone, readers are not; who is next; deadlines against passing
 * on.
 */
#include "sync.h"

static int kind;
static tn_rwlock rw;

static void each_kind(void (*fn)(void))
{
    for (kind = TN_RWLOCK_FAIR; kind <= TN_RWLOCK_WRITERS; kind++) {
        CHECK_EQUAL(tn_rwlock_init(&rw, kind), 0);
        fn();
        CHECK_EQUAL(tn_rwlock_destroy(&rw), 0);
        CHECK(rw.waits.ring == NULL);
        CHECK_EQUAL(rw.writers, 0);
    }
}

/* ---- exclusion, with and without deadlines ---- */

static _Atomic(int) readers, writers, together;
static _Atomic(long) done, missed;
static int rounds;
static bool hurried;

static void *uses(void *number)
{
    uint64_t random = harness_seed() + (uintptr_t)number;
    for (int i = 0; i < rounds; i++) {
        bool write = harness_random(&random) % 3 == 0;
        tn_time deadline = hurried ? tn_now() + harness_random(&random) % 40000 : TN_FOREVER;
        int rc = write ? tn_rwlock_wrlock_until(&rw, deadline, NULL) : tn_rwlock_rdlock_until(&rw, deadline, NULL);
        if (rc != 0) {
            CHECK_EQUAL(rc, ETIMEDOUT);
            atomic_fetch_add(&missed, 1);
            continue;
        }
        int r = atomic_fetch_add(write ? &writers : &readers, 1);
        if (write)
            CHECK(r == 0 && atomic_load(&readers) == 0);
        else if (r > 0)
            atomic_store(&together, 1);
        if (!write)
            CHECK_EQUAL(atomic_load(&writers), 0);
        if (harness_random(&random) % 4 == 0)
            tn_yield();
        atomic_fetch_sub(write ? &writers : &readers, 1);
        atomic_fetch_add(&done, 1);
        CHECK_EQUAL(tn_rwlock_unlock(&rw), 0);
    }
    return NULL;
}

static void use(void)
{
    rounds = stress ? 10000 : 200;
    atomic_store(&done, 0);
    atomic_store(&missed, 0);
    atomic_store(&together, 0);
    party(8, 2, uses);
    party(0, 4, uses);
    CHECK_EQUAL(atomic_load(&done) + atomic_load(&missed), 14L * rounds);
    for (int i = 0; i < 100 && atomic_load(&together) == 0; i++) /* where each finds the lock free by chance */
        party(8, 2, uses);
    CHECK_EQUAL(atomic_load(&together), 1);
}

static void exclude(void)
{
    hurried = false;
    each_kind(use);
}

static void hurry(void)
{
    hurried = true;
    each_kind(use);
}

static void test_exclusion(void)
{
    beside(exclude);
}

static void test_hurry(void)
{
    beside(hurry);
}

/* ---- who is next: one reads; then a writer, a reader and a writer come ---- */

static char order[8];
static _Atomic(unsigned) n;

static void *comes(void *name)
{
    bool write = (uintptr_t)name < 'a';
    CHECK_EQUAL(write ? tn_rwlock_wrlock(&rw) : tn_rwlock_rdlock(&rw), 0);
    order[atomic_fetch_add(&n, 1)] = (char)(uintptr_t)name;
    CHECK_EQUAL(tn_rwlock_unlock(&rw), 0);
    return NULL;
}

static const char *order_of(bool written, const char *names)
{
    struct party p = {.fibres = (unsigned)strlen(names)};
    memset(order, 0, sizeof(order));
    atomic_store(&n, 0);
    CHECK_EQUAL(written ? tn_rwlock_wrlock(&rw) : tn_rwlock_rdlock(&rw), 0);
    for (unsigned i = 0; i < p.fibres; i++) {
        CHECK_EQUAL(tn_spawn(&p.fibre[i], &(struct tn_attr){.runtime = rt}, comes, (void *)(uintptr_t)names[i]), 0);
        CHECK(EVENTUALLY(waiting(&rw.waits) + atomic_load(&n) == i + 1));
    }
    CHECK_EQUAL(tn_rwlock_unlock(&rw), 0);
    all_gone(&p);
    return order;
}

static void who_is_next(void)
{
    static const char *const read[] = {"WrV", "rWV", "WVr"}, *const written[] = {"WrV", "rWV", "WVr"};
    CHECK(strcmp(order_of(false, "WrV"), read[kind]) == 0);
    CHECK(strcmp(order_of(true, "WrV"), written[kind]) == 0);
}

static void nexts(void)
{
    each_kind(who_is_next);
}

static void test_next(void)
{
    beside(nexts);
}

/* ---- a writer that gives up lets the readers behind it go ---- */

static _Atomic(int) state;

static void *reads(void *arg)
{
    CHECK_EQUAL(tn_rwlock_rdlock(&rw), 0);
    atomic_fetch_add(&state, 1);
    CHECK_EQUAL(tn_rwlock_unlock(&rw), 0);
    return arg;
}

static void *writes_in_vain(void *arg)
{
    CHECK_EQUAL(tn_rwlock_wrlock_until(&rw, tn_now() + 20000000, NULL), ETIMEDOUT);
    return arg;
}

static void give_up(void)
{
    struct party p, q;
    atomic_store(&state, 0);
    CHECK_EQUAL(tn_rwlock_rdlock(&rw), 0);
    invite(&p, 1, 0, writes_in_vain);
    nap_us(3000);
    invite(&q, 2, 1, reads);
    all_gone(&p);
    CHECK(EVENTUALLY(atomic_load(&state) == 3)); /* while the first still reads */
    all_gone(&q);
    CHECK_EQUAL(tn_rwlock_unlock(&rw), 0);
}

static int read_late(tn_time deadline, tn_token *token)
{
    return tn_rwlock_rdlock_until(&rw, deadline, token);
}

static int write_late(tn_time deadline, tn_token *token)
{
    return tn_rwlock_wrlock_until(&rw, deadline, token);
}

static void *holds(void *arg)
{
    CHECK_EQUAL(tn_rwlock_wrlock(&rw), 0);
    CHECK_EQUAL(tn_rwlock_wrlock(&rw), EDEADLK);
    CHECK_EQUAL(tn_rwlock_rdlock(&rw), EDEADLK);
    CHECK_EQUAL(tn_rwlock_trywrlock(&rw), EBUSY);
    CHECK_EQUAL(tn_rwlock_tryrdlock(&rw), EBUSY);
    atomic_store(&state, 1);
    while (atomic_load(&state) == 1)
        tn_yield();
    CHECK_EQUAL(tn_rwlock_unlock(&rw), 0);
    CHECK_EQUAL(tn_rwlock_unlock(&rw), EPERM);
    return arg;
}

static void late_of_kind(void)
{
    struct party p;
    give_up();
    atomic_store(&state, 0);
    invite(&p, 1, 0, holds);
    CHECK(EVENTUALLY(atomic_load(&state) == 1));
    too_late(read_late);
    too_late(write_late);
    CHECK_EQUAL(tn_rwlock_destroy(&rw), EBUSY);
    CHECK_EQUAL(tn_rwlock_unlock(&rw), EPERM); /* another one writes */
    atomic_store(&state, 2);
    all_gone(&p);
    CHECK_EQUAL(tn_rwlock_tryrdlock(&rw), 0);
    CHECK_EQUAL(tn_rwlock_tryrdlock(&rw), 0);
    CHECK_EQUAL(tn_rwlock_trywrlock(&rw), EBUSY);
    CHECK_EQUAL(tn_rwlock_unlock(&rw), 0);
    CHECK_EQUAL(tn_rwlock_unlock(&rw), 0);
    CHECK_EQUAL(tn_rwlock_trywrlock(&rw), 0);
    CHECK_EQUAL(tn_rwlock_unlock(&rw), 0);
}

static void lates(void)
{
    each_kind(late_of_kind);
    CHECK_EQUAL(tn_rwlock_init(&rw, TN_RWLOCK_WRITERS + 1), EINVAL);
}

static void test_late(void)
{
    CHECK_EQUAL(sizeof(tn_rwlock), 32);
    beside(lates);
}

static const struct test tests[] = {{"writers are alone, readers are not", test_exclusion},
                                    {"who is next", test_next},
                                    {"deadlines and tokens", test_late},
                                    {"deadlines against passing on", test_hurry}};
SYNC_MAIN("rwlock", tests)
