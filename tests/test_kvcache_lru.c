/* SPDX-License-Identifier: MIT
 *
 * What kvcache evicts, beside a list of last use that is kept here: after random calls under a limit the entries that are left
 * are those of the list. How many have to go for an entry the store counts; which, the list says.
 */
#include "harness.h"

#include "kvstore.h"

#include <stdio.h>
#include <string.h>

enum { KEYS = 400, MEMORY = 96 * 1024, ITEM = 24 * 1024, CALLS = 4000 }; /* one shard */

static struct kv *kv;
static uint64_t random_state;
static int order[KEYS], n; /* keys, that which was used last first */

static unsigned below(unsigned limit)
{
    return (unsigned)(harness_random(&random_state) % limit);
}

static uint64_t counted(enum kv_count what)
{
    uint64_t counts[KV_COUNTED] = {0};
    kv_counts(kv, counts);
    return counts[what];
}

static size_t named(char key[16], int k)
{
    return (size_t)snprintf(key, 16, "key-%d", k);
}

static int place_of(int k)
{
    for (int i = 0; i < n; i++)
        if (order[i] == k)
            return i;
    return -1;
}

static void taken_out(int i)
{
    n--;
    memmove(&order[i], &order[i + 1], (size_t)(n - i) * sizeof order[0]);
}

static void used(int k)
{
    if (place_of(k) >= 0)
        taken_out(place_of(k));
    memmove(&order[1], &order[0], (size_t)n * sizeof order[0]);
    order[0] = k;
    n++;
}

/* The last of the list go, but `keep`. */
static void evicted(uint64_t since, int keep)
{
    for (uint64_t gone = counted(KV_evictions); since < gone && n > 0; since++)
        taken_out(n - 1 - (order[n - 1] == keep && n > 1));
}

static bool sees(void *arg, struct kv_entry *e)
{
    return arg == NULL && e->size < ITEM;
}

static void stores(int k, enum kv_how how, size_t size)
{
    char key[16];
    struct kv_entry *e;
    uint64_t before = counted(KV_evictions);
    size_t length = named(key, k);
    if (!CHECK_EQUAL(kv_reserve(kv, key, length, 0, 0, size, &e), KV_DONE))
        return;
    memset(kv_value(e), 'v', size);
    memcpy(kv_value(e) + size, "\r\n", 2);
    evicted(before, -1);
    bool there = place_of(k) >= 0, joins = there && (how == KV_APPEND || how == KV_PREPEND);
    before = counted(KV_evictions);
    enum kv_result result = kv_store(kv, e, how, 0);
    evicted(before, k);
    enum kv_result wanted = how == KV_SET                ? KV_DONE
                            : how == KV_ADD              ? (there ? KV_NOT_STORED : KV_DONE)
                            : joins || how == KV_REPLACE ? (there ? KV_DONE : KV_NOT_STORED)
                                                         : KV_NOT_STORED;
    CHECK_EQUAL(result, wanted);
    if (result == KV_DONE || there)
        used(k);
}

/* Without using any. */
static bool is_there(int k)
{
    char key[16];
    uint64_t value;
    size_t length = named(key, k);
    return kv_delta(kv, key, length, true, 0, &value) == KV_NOT_NUMBER;
}

static void one_call(bool alike)
{
    static const enum kv_how ways[] = {KV_SET, KV_SET, KV_SET, KV_ADD, KV_REPLACE, KV_APPEND, KV_PREPEND};
    int k = (int)below(KEYS);
    char key[16];
    size_t length = named(key, k);
    bool there = place_of(k) >= 0;
    switch (below(8)) {
    case 0:
        CHECK_EQUAL(kv_delete(kv, key, length, true), there ? KV_DONE : KV_NOT_FOUND);
        if (there)
            taken_out(place_of(k));
        return;
    case 1:
        CHECK_EQUAL(kv_touch(kv, key, length, 0), there ? KV_DONE : KV_NOT_FOUND);
        break;
    case 2:
    case 3:
        CHECK_EQUAL(kv_get(kv, key, length, below(2) == 0, 0, sees, NULL), there ? KV_DONE : KV_NOT_FOUND);
        break;
    default:
        stores(k, alike ? KV_SET : ways[below(sizeof ways / sizeof ways[0])],
               alike           ? 600
               : below(4) == 0 ? 1500
                               : 1 + below(900));
        return;
    }
    if (there)
        used(k);
}

static void one_round(bool alike)
{
    kv = kv_new(MEMORY, ITEM);
    n = 0;
    for (int call = 0; call < CALLS; call++) {
        uint64_t before = counted(KV_evictions), bytes;
        one_call(alike);
        bytes = counted(KV_bytes);
        CHECK(bytes <= MEMORY);
        CHECK_EQUAL(counted(KV_curr_items), n);
        if (alike && counted(KV_evictions) > before) /* none went in vain: of 1 KiB, with a table of 2 KiB at most */
            CHECK(bytes + 2 * 1024 + 2 * 1024 >= MEMORY);
    }
    CHECK(counted(KV_evictions) > 100);
    for (int k = 0; k < KEYS; k++)
        if (!CHECK_EQUAL(is_there(k), place_of(k) >= 0))
            harness_note("key %d of %d, place %d", k, n, place_of(k));
    kv_free(kv);
}

static void rounds(bool alike)
{
    uint64_t seed = harness_seed();
    for (uint64_t round = 0; round < 20 && harness_round(seed + round); round++) {
        random_state = seed + round;
        one_round(alike);
    }
}

static void one_size(void)
{
    rounds(true);
}

static void any_size(void)
{
    rounds(false);
}

int main(void)
{
    static const struct test all[] = {{"of one size", one_size}, {"of any size, by all calls that store", any_size}};
    return HARNESS_RUN("kvcache_lru", all);
}
