/* SPDX-License-Identifier: MIT
 *
 * What each design of the mutex does with who finds it held: looks again and again and yields, waits at once, or looks first and then
 * waits. Linked with --wrap for the call by which it takes a breath between two looks.
 */
#include "harness.h"

#include "tenter_sync.h"

#include <stdatomic.h>

static _Thread_local bool counted;

/* The looks of who finds a lock held. */
static atomic_long looks;

void __real_tn_spin_wait(unsigned *spins);
void __wrap_tn_spin_wait(unsigned *spins);
void __wrap_tn_spin_wait(unsigned *spins)
{
    atomic_fetch_add(&looks, counted);
    __real_tn_spin_wait(spins);
}

static void *takes(void *m)
{
    CHECK_EQUAL(tn_mutex_lock(m), 0);
    CHECK_EQUAL(tn_mutex_unlock(m), 0);
    return NULL;
}

/* On one worker: the other one comes, and finds it held, while the holder yields. */
static void *holds(void *design)
{
    enum { YIELDS = 5 };
    int d = *(int *)design;
    tn_mutex m;
    tn_fibre *f;
    tn_cluster *cl = tn_cluster_self();
    counted = true;
    CHECK_EQUAL(tn_mutex_init(&m, &(struct tn_mutex_attr){d, TN_MUTEX_NORMAL}), 0);
    CHECK_EQUAL(tn_mutex_lock(&m), 0);
    CHECK_EQUAL(tn_spawn(&f, NULL, takes, &m), 0);
    uint64_t waits = counter(cl, "wait"), yields = counter(cl, "yield");
    atomic_store(&looks, 0);
    for (int i = 0; i < YIELDS; i++)
        tn_yield();
    waits = counter(cl, "wait") - waits;
    yields = counter(cl, "yield") - yields - YIELDS;
    long looked = atomic_load(&looks);
    counted = false;
    d = d == TN_MUTEX_DEFAULT ? TN_MUTEX : d;
    harness_note("design %d: %ld looks, %llu yields, %llu waits", d, looked, (unsigned long long)yields,
                 (unsigned long long)waits);
    if (counting()) {
        CHECK_EQUAL(waits, d != TN_MUTEX_SPIN);
        CHECK((yields != 0) == (d == TN_MUTEX_SPIN));
    }
    if (d == TN_MUTEX_SPIN || d == TN_MUTEX_SPIN_BLOCK)
        CHECK(looked >= 10 * (d == TN_MUTEX_SPIN_BLOCK ? 4 : 1));
    else
        CHECK_EQUAL(looked, 0);
    CHECK_EQUAL(tn_mutex_unlock(&m), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    return NULL;
}

static void test_designs(void)
{
    struct tn_config c = with(1, "fifo");
    if (migration_forced())
        SKIP("another order of fibres");
    CHECK(TN_MUTEX != TN_MUTEX_DEFAULT);
    for (int d = TN_MUTEX_DEFAULT; d <= TN_MUTEX_BATON; d++)
        CHECK_EQUAL(tn_run(&c, holds, &d, NULL), 0);
}

int main(void)
{
    static const struct test tests[] = {{"what each design of the mutex does", test_designs}};
    return HARNESS_RUN("designs", tests);
}
