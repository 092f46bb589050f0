/* SPDX-License-Identifier: MIT
 *
 * The store of kvcache; see kvstore.h.
 *
 * An entry is dead when its second has come, or its unique number is not above its shard's `flushed`; it is taken out when it is met.
 * Nothing else looks for the dead: they go as others do, when memory is short and they have not been used for longest.
 *
 * A flush goes from shard to shard. One to come is carried out in a shard by the first call there after its second: nobody can tell
 * that from one in time, since every call that reads or stores begins with it.
 */
#include "kvstore.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { SHARDS = 64, BUCKETS = 64, MONTH = 60 * 60 * 24 * 30 };

struct shard {
    _Alignas(64) struct service_lock *lock; /* of all that follows */
    struct kv_entry **buckets;
    size_t mask;
    size_t used;       /* bytes: entries, stored or not yet, and the table */
    uint64_t flushed;  /* the last number that any entry had then */
    uint32_t flush_at; /* 0: no flush to come */
    TAILQ_HEAD(kv_order, kv_entry) order;
    uint64_t counts[KV_COUNTED];
};

struct kv {
    size_t memory, item, limit; /* limit: of a shard */
    unsigned shards;            /* a power of two */
    int64_t started, birthday;  /* seconds of the clock, and of the day */
    uint64_t seed;
    struct shard *shard;
    _Alignas(64) _Atomic(uint64_t) unique;
};

/* ---- time ---- */

static int64_t seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec;
}

static uint64_t next_unique(struct kv *kv)
{
    /* relaxed: numbers differ and grow in each thread; what they order is ordered by the lock of a shard */
    return atomic_fetch_add_explicit(&kv->unique, 1, memory_order_relaxed) + 1;
}

uint32_t kv_now(struct kv *kv)
{
    return (uint32_t)(seconds(CLOCK_MONOTONIC_COARSE) - kv->started + 2);
}

/* Under the shard's lock, as were its entries when they got their numbers. */
static void flush_shard(struct kv *kv, struct shard *s)
{
    s->flush_at = 0;
    s->flushed = atomic_load_explicit(&kv->unique, memory_order_relaxed); /* relaxed: as next_unique */
}

static void flush_due(struct kv *kv, struct shard *s, uint32_t now)
{
    if (s->flush_at != 0 && now >= s->flush_at)
        flush_shard(kv, s);
}

static uint32_t expiry(const struct kv *kv, int32_t exptime, uint32_t now)
{
    if (exptime <= 0)
        return exptime == 0 ? 0 : 1;
    if (exptime <= MONTH)
        return now + (uint32_t)exptime;
    return exptime <= kv->birthday ? 1 : (uint32_t)(exptime - kv->birthday) + 2;
}

void kv_flush(struct kv *kv, int32_t delay)
{
    bool shortly_before =
        delay <= kv->birthday && delay > kv->birthday - 62; /* memcached holds itself to be so much older */
    uint32_t now = kv_now(kv), at = delay <= 0 || shortly_before ? now : expiry(kv, delay, now);
    if (at <= now)
        next_unique(kv); /* memcached gives it one */
    for (unsigned i = 0; i < kv->shards; i++) {
        struct shard *s = &kv->shard[i];
        service_lock(s->lock);
        flush_due(kv, s, now);
        s->flush_at = at > 1 ? at : 0; /* 1: nothing is as old as that */
        flush_due(kv, s, now);
        service_unlock(s->lock);
    }
}

/* ---- entries ---- */

/* The keys that an attacker would have to choose for one bucket depend on the seed. */
static uint64_t hash_of(const struct kv *kv, const char *key, size_t n)
{
    uint64_t h = kv->seed ^ (n * 0x9e3779b97f4a7c15u), word;
    for (; n >= 8; n -= 8, key += 8) {
        memcpy(&word, key, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, key, n);
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 33);
}

static struct shard *shard_of(const struct kv *kv, uint64_t hash)
{
    return &kv->shard[(hash >> 56) & (kv->shards - 1)];
}

/* With what malloc adds. */
static size_t cost(size_t key_size, size_t size)
{
    return (offsetof(struct kv_entry, text) + key_size + size + 2 + 8 + 15) & ~(size_t)15;
}

static void release(struct shard *s, struct kv_entry *e)
{
    s->used -= cost(e->key_size, e->size);
    free(e);
}

static void unlink_entry(struct shard *s, struct kv_entry *e)
{
    struct kv_entry **p = &s->buckets[e->hash & s->mask];
    while (*p != e)
        p = &(*p)->next;
    *p = e->next;
    TAILQ_REMOVE(&s->order, e, order);
    s->counts[KV_curr_items]--;
    s->counts[KV_bytes] -= cost(e->key_size, e->size);
    release(s, e);
}

static bool dead(const struct shard *s, const struct kv_entry *e, uint32_t now)
{
    return (e->expires != 0 && e->expires <= now) || e->unique <= s->flushed;
}

static struct kv_entry *find(struct shard *s, uint64_t hash, const char *key, size_t n, uint32_t now)
{
    struct kv_entry *e = s->buckets[hash & s->mask];
    while (e != NULL && (e->hash != hash || e->key_size != n || memcmp(e->text, key, n) != 0))
        e = e->next;
    if (e != NULL && dead(s, e, now)) {
        unlink_entry(s, e);
        return NULL;
    }
    return e;
}

static void used_now(struct shard *s, struct kv_entry *e)
{
    if (TAILQ_FIRST(&s->order) != e) {
        TAILQ_REMOVE(&s->order, e, order);
        TAILQ_INSERT_HEAD(&s->order, e, order);
    }
}

/* Twice the buckets, where there is memory for them; the old ones do as well. */
static void grow(struct kv *kv, struct shard *s)
{
    size_t old = s->mask + 1, bytes = 2 * old * sizeof *s->buckets;
    if (s->used + bytes > kv->limit)
        return;
    struct kv_entry **buckets = calloc(2 * old, sizeof *buckets), *e;
    if (buckets == NULL)
        return;
    free(s->buckets);
    s->buckets = buckets;
    s->mask = 2 * old - 1;
    s->used += bytes / 2;
    TAILQ_FOREACH(e, &s->order, order)
    {
        struct kv_entry **p = &buckets[e->hash & s->mask];
        e->next = *p;
        *p = e;
    }
}

static void link_entry(struct kv *kv, struct shard *s, struct kv_entry *e)
{
    if (s->counts[KV_curr_items] > s->mask)
        grow(kv, s);
    struct kv_entry **p = &s->buckets[e->hash & s->mask];
    e->unique = next_unique(kv);
    e->next = *p;
    *p = e;
    TAILQ_INSERT_HEAD(&s->order, e, order);
    s->counts[KV_curr_items]++;
    s->counts[KV_total_items]++;
    s->counts[KV_bytes] += cost(e->key_size, e->size);
}

/* Of this shard, under its lock; `keep`, which may be NULL, is not evicted for it. */
static struct kv_entry *allocate(struct kv *kv, struct shard *s, size_t key_size, size_t size, uint32_t now,
                                 struct kv_entry *keep)
{
    size_t need = cost(key_size, size);
    while (s->used + need > kv->limit) {
        struct kv_entry *last = TAILQ_LAST(&s->order, kv_order);
        if (last != NULL && last == keep)
            last = TAILQ_PREV(last, kv_order, order);
        if (last == NULL)
            return NULL;
        s->counts[KV_evictions] += !dead(s, last, now);
        unlink_entry(s, last);
    }
    struct kv_entry *e = malloc(offsetof(struct kv_entry, text) + key_size + size + 2);
    if (e != NULL) {
        s->used += need;
        e->key_size = (uint8_t)key_size;
        e->size = (uint32_t)size;
    }
    return e;
}

static bool too_large(const struct kv *kv, size_t n, uint32_t flags, size_t size)
{
    return size > kv->item || KV_BESIDE + n + size + (flags != 0 ? KV_BESIDE_FLAGS : 0) > kv->item;
}

/* ---- calls ---- */

/* Where a key belongs, with the lock of its shard held, and its entry, if there is one. */
struct place {
    struct shard *s;
    struct kv_entry *e;
    uint64_t hash;
    uint32_t now;
};

static struct place locked(struct kv *kv, const char *key, size_t n)
{
    struct place p = {.hash = hash_of(kv, key, n), .now = kv_now(kv)};
    p.s = shard_of(kv, p.hash);
    service_lock(p.s->lock);
    flush_due(kv, p.s, p.now);
    p.e = find(p.s, p.hash, key, n, p.now);
    return p;
}

static void count(struct shard *s, bool found, enum kv_count hits, enum kv_count misses)
{
    s->counts[found ? hits : misses]++;
}

enum kv_result kv_reserve(struct kv *kv, const char *key, size_t n, uint32_t flags, int32_t exptime, size_t size,
                          struct kv_entry **e)
{
    if (too_large(kv, n, flags, size))
        return KV_TOO_LARGE;
    struct place p = locked(kv, key, n);
    *e = allocate(kv, p.s, n, size, p.now, NULL);
    service_unlock(p.s->lock);
    if (*e == NULL)
        return KV_NO_MEMORY;
    (*e)->hash = p.hash;
    (*e)->expires = expiry(kv, exptime, p.now);
    (*e)->flags = flags;
    memcpy((*e)->text, key, n);
    return KV_DONE;
}

void kv_abandon(struct kv *kv, struct kv_entry *e)
{
    struct shard *s = shard_of(kv, e->hash);
    service_lock(s->lock);
    release(s, e);
    service_unlock(s->lock);
}

/* In place of `old`: an entry of the same key, that differs in its value. NULL: no memory, and all is as it was. */
static struct kv_entry *replaced(struct kv *kv, struct place p, struct kv_entry *old, size_t size)
{
    struct kv_entry *e = allocate(kv, p.s, old->key_size, size, p.now, old);
    if (e != NULL) {
        e->hash = old->hash;
        e->expires = old->expires;
        e->flags = old->flags;
        memcpy(e->text, old->text, old->key_size);
        memcpy(kv_value(e) + size, "\r\n", 2);
    }
    return e;
}

static void exchange(struct kv *kv, struct shard *s, struct kv_entry *old, struct kv_entry *e)
{
    unlink_entry(s, old);
    link_entry(kv, s, e);
}

static enum kv_result joined(struct kv *kv, struct place p, struct kv_entry *more, bool append)
{
    struct kv_entry *first = append ? p.e : more, *second = append ? more : p.e;
    size_t size = (size_t)first->size + second->size;
    if (too_large(kv, p.e->key_size, p.e->flags, size))
        return KV_NOT_STORED;
    struct kv_entry *both = replaced(kv, p, p.e, size);
    if (both == NULL)
        return KV_NO_MEMORY;
    memcpy(kv_value(both), kv_value(first), first->size);
    memcpy(kv_value(both) + first->size, kv_value(second), second->size);
    exchange(kv, p.s, p.e, both);
    return KV_DONE;
}

enum kv_result kv_store(struct kv *kv, struct kv_entry *e, enum kv_how how, uint64_t unique)
{
    static const enum kv_result without[] = {
        [KV_SET] = KV_DONE,          [KV_ADD] = KV_DONE,           [KV_REPLACE] = KV_NOT_STORED,
        [KV_APPEND] = KV_NOT_STORED, [KV_PREPEND] = KV_NOT_STORED, [KV_CAS] = KV_NOT_FOUND};
    struct place p = locked(kv, e->text, e->key_size);
    enum kv_result result = KV_DONE;
    bool joins = p.e != NULL && (how == KV_APPEND || how == KV_PREPEND);
    if (p.e == NULL)
        result = without[how];
    else if (how == KV_ADD) {
        result = KV_NOT_STORED;
        used_now(p.s, p.e);
    } else if (how == KV_CAS && p.e->unique != unique)
        result = KV_EXISTS;
    else if (joins)
        result = joined(kv, p, e, how == KV_APPEND);
    p.s->counts[KV_cmd_set]++;
    if (how == KV_CAS)
        p.s->counts[result == KV_DONE ? KV_cas_hits : result == KV_EXISTS ? KV_cas_badval : KV_cas_misses]++;
    if (result != KV_DONE || joins)
        release(p.s, e);
    else if (p.e != NULL)
        exchange(kv, p.s, p.e, e);
    else
        link_entry(kv, p.s, e);
    service_unlock(p.s->lock);
    return result;
}

enum kv_result kv_get(struct kv *kv, const char *key, size_t n, bool touch, int32_t exptime,
                      bool (*see)(void *arg, struct kv_entry *e), void *arg)
{
    struct place p = locked(kv, key, n);
    enum kv_result result = KV_NOT_FOUND;
    if (p.e != NULL) {
        if (touch)
            p.e->expires = expiry(kv, exptime, p.now);
        used_now(p.s, p.e);
        result = see(arg, p.e) ? KV_DONE : KV_NO_MEMORY;
    }
    p.s->counts[KV_cmd_get]++;
    count(p.s, p.e != NULL, KV_get_hits, KV_get_misses);
    p.s->counts[KV_cmd_touch] += touch;
    if (touch)
        count(p.s, p.e != NULL, KV_touch_hits, KV_touch_misses);
    service_unlock(p.s->lock);
    return result;
}

enum kv_result kv_touch(struct kv *kv, const char *key, size_t n, int32_t exptime)
{
    struct place p = locked(kv, key, n);
    if (p.e != NULL) {
        p.e->expires = expiry(kv, exptime, p.now);
        used_now(p.s, p.e);
    }
    p.s->counts[KV_cmd_touch]++;
    count(p.s, p.e != NULL, KV_touch_hits, KV_touch_misses);
    service_unlock(p.s->lock);
    return p.e != NULL ? KV_DONE : KV_NOT_FOUND;
}

enum kv_result kv_delete(struct kv *kv, const char *key, size_t n, bool counted)
{
    struct place p = locked(kv, key, n);
    bool found = p.e != NULL;
    if (found)
        unlink_entry(p.s, p.e);
    if (counted)
        count(p.s, found, KV_delete_hits, KV_delete_misses);
    service_unlock(p.s->lock);
    return found ? KV_DONE : KV_NOT_FOUND;
}

/* A shorter number keeps the length of the longer one before it, with spaces behind it, as memcached has it. */
static enum kv_result changed(struct kv *kv, struct place p, bool add, uint64_t delta, uint64_t *value)
{
    char digits[20];
    struct kv_entry *e = p.e;
    if (e->size == 0 || !kv_unsigned(kv_value(e), e->size, value))
        return KV_NOT_NUMBER;
    *value = add ? *value + delta : delta > *value ? 0 : *value - delta;
    size_t n = kv_digits(digits, *value);
    if (n > e->size) {
        if ((e = replaced(kv, p, p.e, n)) == NULL)
            return KV_NO_MEMORY;
        exchange(kv, p.s, p.e, e);
    } else {
        e->unique = next_unique(kv);
        memset(kv_value(e) + n, ' ', e->size - n);
        used_now(p.s, e);
    }
    memcpy(kv_value(e), digits, n);
    return KV_DONE;
}

enum kv_result kv_delta(struct kv *kv, const char *key, size_t n, bool add, uint64_t delta, uint64_t *value)
{
    struct place p = locked(kv, key, n);
    enum kv_result result = p.e != NULL ? changed(kv, p, add, delta, value) : KV_NOT_FOUND;
    if (result == KV_DONE || result == KV_NOT_FOUND)
        count(p.s, result == KV_DONE, add ? KV_incr_hits : KV_decr_hits, add ? KV_incr_misses : KV_decr_misses);
    service_unlock(p.s->lock);
    return result;
}

/* ---- all of it ---- */

void kv_counts(struct kv *kv, uint64_t counts[KV_COUNTED])
{
    memset(counts, 0, KV_COUNTED * sizeof *counts);
    for (unsigned i = 0; i < kv->shards; i++) {
        service_lock(kv->shard[i].lock);
        for (int k = 0; k < KV_COUNTED; k++)
            counts[k] += kv->shard[i].counts[k];
        service_unlock(kv->shard[i].lock);
    }
}

void kv_reset(struct kv *kv)
{
    for (unsigned i = 0; i < kv->shards; i++) {
        service_lock(kv->shard[i].lock);
        memset(kv->shard[i].counts + KV_LEVELS, 0, (KV_COUNTED - KV_LEVELS) * sizeof(uint64_t));
        service_unlock(kv->shard[i].lock);
    }
}

size_t kv_limit(const struct kv *kv)
{
    return kv->memory;
}

struct kv *kv_new(size_t memory, size_t item)
{
    struct kv *kv = aligned_alloc(64, (sizeof *kv + 63) & ~(size_t)63);
    if (kv == NULL)
        return NULL;
    memset(kv, 0, sizeof *kv);
    kv->memory = memory;
    kv->item = item;
    for (kv->shards = SHARDS; kv->shards > 1 && memory / kv->shards < 4 * item;)
        kv->shards /= 2;
    kv->limit = memory / kv->shards;
    kv->started = seconds(CLOCK_MONOTONIC_COARSE);
    kv->birthday = seconds(CLOCK_REALTIME);
    kv->seed = bench_now() ^ (uint64_t)(uintptr_t)kv;
    kv->shard = aligned_alloc(64, kv->shards * sizeof *kv->shard);
    if (kv->shard == NULL) {
        free(kv);
        return NULL;
    }
    memset(kv->shard, 0, kv->shards * sizeof *kv->shard);
    for (unsigned i = 0; i < kv->shards; i++) {
        struct shard *s = &kv->shard[i];
        TAILQ_INIT(&s->order);
        s->lock = service_lock_new();
        s->buckets = calloc(BUCKETS, sizeof *s->buckets);
        s->mask = BUCKETS - 1;
        s->used = BUCKETS * sizeof *s->buckets;
        if (s->lock == NULL || s->buckets == NULL) {
            kv->shards = i + 1;
            kv_free(kv);
            return NULL;
        }
    }
    return kv;
}

void kv_free(struct kv *kv)
{
    for (unsigned i = 0; i < kv->shards; i++) {
        struct shard *s = &kv->shard[i];
        while (!TAILQ_EMPTY(&s->order))
            unlink_entry(s, TAILQ_FIRST(&s->order));
        free(s->buckets);
        if (s->lock != NULL)
            service_lock_free(s->lock);
    }
    free(kv->shard);
    free(kv);
}
