/* SPDX-License-Identifier: MIT
 *
 * The store of kvcache: entries by key in a hash table of shards, each with a lock, a table, an order of last use, and a
 * share of the memory. All functions may be called by several threads or fibres at once; each takes one lock at a time and
 * waits for nothing else.
 *
 * What is shared by the shards is one word: the last unique number that was given out (one a store, as memcached counts
 * them, so that the numbers which clients see are the same).
 */
#ifndef KVSTORE_H
#define KVSTORE_H

#include "service.h"

#include <sys/queue.h>

enum {
    KV_KEY = 250,       /* the longest key */
    KV_BESIDE = 59,     /* what memcached needs beside key and value: its limit of an item counts that */
    KV_BESIDE_FLAGS = 4 /* and this, where flags are not 0 */
};

struct kv;

struct kv_entry {
    struct kv_entry *next;       /* in its bucket */
    TAILQ_ENTRY(kv_entry) order; /* of last use */
    uint64_t hash, unique;
    uint32_t expires; /* the second from which on it is gone; 0: none */
    uint32_t flags, size;
    uint8_t key_size;
    char text[]; /* key, value, "\r\n" */
};

static inline char *kv_value(struct kv_entry *e)
{
    return e->text + e->key_size;
}

enum kv_result {
    KV_DONE,
    KV_NOT_STORED,
    KV_EXISTS,
    KV_NOT_FOUND,
    KV_TOO_LARGE,
    KV_NO_MEMORY,
    KV_NOT_NUMBER,
};

enum kv_how { KV_SET, KV_ADD, KV_REPLACE, KV_APPEND, KV_PREPEND, KV_CAS };

/* What is counted, under the names that memcached gives it. The first three are levels, which `stats reset` leaves. */
/* clang-format off */
#define KV_COUNTS(X)                                                                                             \
    X(curr_items) X(bytes) X(total_items)                                                                        \
    X(cmd_get) X(cmd_set) X(cmd_touch) X(get_hits) X(get_misses) X(delete_hits) X(delete_misses) X(incr_hits)    \
    X(incr_misses) X(decr_hits) X(decr_misses) X(cas_hits) X(cas_misses) X(cas_badval) X(touch_hits)             \
    X(touch_misses) X(evictions)
/* clang-format on */
enum kv_count {
#define X(name) KV_##name,
    KV_COUNTS(X)
#undef X
        KV_COUNTED,
    KV_LEVELS = KV_cmd_get
};

/* All entries, tables included, stay within `memory` bytes; an item may have `item` bytes, at most a quarter of that. NULL:
 * no memory. Nobody uses it when it is freed. */
struct kv *kv_new(size_t memory, size_t item);
void kv_free(struct kv *kv);

/* Seconds, from 2 on since kv_new. */
uint32_t kv_now(struct kv *kv);

/* An entry to be filled in and then stored, or abandoned; its memory counts from now on, others have been evicted for it.
 * `exptime` as in the protocol: 0 never, negative at once, up to 30 days from now, above that a time of the day. */
enum kv_result kv_reserve(struct kv *kv, const char *key, size_t n, uint32_t flags, int32_t exptime, size_t size,
                          struct kv_entry **e);
void kv_abandon(struct kv *kv, struct kv_entry *e);

/* Takes e in every case. `unique` is for KV_CAS. */
enum kv_result kv_store(struct kv *kv, struct kv_entry *e, enum kv_how how, uint64_t unique);

/* Shows the entry to `see`, under its lock; see's false is KV_NO_MEMORY. With `touch` it gets a new time to live first. */
enum kv_result kv_get(struct kv *kv, const char *key, size_t n, bool touch, int32_t exptime,
                      bool (*see)(void *arg, struct kv_entry *e), void *arg);

enum kv_result kv_touch(struct kv *kv, const char *key, size_t n, int32_t exptime);
enum kv_result kv_delete(struct kv *kv, const char *key, size_t n, bool counted);

/* Add to the number that is the value, or take away from it, but not below 0. */
enum kv_result kv_delta(struct kv *kv, const char *key, size_t n, bool add, uint64_t delta, uint64_t *value);

/* What is there now is there no more: at once, or in `delay` seconds what is there then. The later call counts. What others store
 * meanwhile may be flushed or not. */
void kv_flush(struct kv *kv, int32_t delay);

/* The sums of all shards, not at one moment. */
void kv_counts(struct kv *kv, uint64_t counts[KV_COUNTED]);
void kv_reset(struct kv *kv);
size_t kv_limit(const struct kv *kv);

/* A whole number as C's strtoull and strtoll read it, with nothing but space around it; false also for a negative one where
 * there can be none, and for what does not fit. The text ends at n, or with
 * a NUL. */
bool kv_unsigned(const char *text, size_t n, uint64_t *value);
bool kv_signed(const char *text, size_t n, int64_t *value);

/* Its digits, at most 20; returns how many. */
size_t kv_digits(char *to, uint64_t value);

#endif
