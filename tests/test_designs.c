/* SPDX-License-Identifier: MIT
 *
 * What each design of the mutex does with who finds it held: looks again and again and yields, waits at once, or looks first and then
 * waits. Linked with --wrap for the call by which it takes a breath between two looks.
 */
#include "harness.h"

#include "tenter_channel.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

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

/* ---- how large the primitives are: as docs/sync.md says of each, and of no other ---- */

static const char *page;

static void test_sizes(void)
{
    static const struct {
        const char *name;
        size_t bytes;
    } sizes[] = {{"tn_mutex", sizeof(tn_mutex)},     {"tn_local_mutex", sizeof(tn_local_mutex)},
                 {"tn_sem", sizeof(tn_sem)},         {"tn_cond", sizeof(tn_cond)},
                 {"tn_rwlock", sizeof(tn_rwlock)},   {"tn_barrier", sizeof(tn_barrier)},
                 {"tn_latch", sizeof(tn_latch)},     {"tn_once", sizeof(tn_once)},
                 {"tn_promise", sizeof(tn_promise)}, {"tn_channel", sizeof(tn_channel)}};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    char line[1024], name[64];
    size_t bytes, rows = 0, right = 0;
    if (page == NULL)
        SKIP("no page was given");
    FILE *in = fopen(page, "r");
    if (!CHECK(in != NULL))
        return;
    while (fgets(line, sizeof line, in) != NULL)
        if (sscanf(line, "| `%63[a-z_]` | %zu |", name, &bytes) == 2) {
            rows++;
            for (size_t i = 0; i < SIZES; i++)
                right += strcmp(sizes[i].name, name) == 0 && CHECK_EQUAL(bytes, sizes[i].bytes);
        }
    fclose(in);
    CHECK_EQUAL(rows, SIZES);
    CHECK_EQUAL(right, SIZES);
    CHECK(sizeof(tn_mutex) <= 16);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {{"what each design of the mutex does", test_designs},
                                        {"how large the primitives are", test_sizes}};
    page = argc > 1 ? argv[1] : NULL;
    return HARNESS_RUN("designs", tests);
}
