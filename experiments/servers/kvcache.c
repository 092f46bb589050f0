/* SPDX-License-Identifier: MIT
 *
 * Service: memcached's text protocol, as Debian's memcached 1.6.18 speaks it, to the words of its errors; what
 * tests/data/kvcache.txt has recorded of it is answered alike. docs/io.md says what is left out.
 *
 * Where memcached's answer depends on how a long line is cut into packets, this one's does not: a line may have LINE bytes,
 * one that begins with `get` or `gets` any number. The keys of such a line are taken one by one, so that answers need not be
 * held; a line that fits into SERVICE_ROOM is looked over before, since one bad key is an error of all.
 */
#include "kvcache.h"

#include <stdlib.h>

enum { LINE = 2048, SPACES = 100 };

struct kv *store;
_Atomic(uint64_t) connections, connected;

/* ---- the rest of a command ---- */

static bool shows(void *arg, struct kv_entry *e)
{
    struct one *o = arg;
    char *start = reply_room(o->out, sizeof "VALUE " + KV_KEY + sizeof "   \r\n" + 3 * 20 + e->size + 2), *to = start;
    if (start == NULL)
        return false;
    memcpy(to, "VALUE ", 6);
    memcpy(to += 6, e->text, e->key_size);
    *(to += e->key_size) = ' ';
    to += 1 + kv_digits(to + 1, e->flags);
    *to = ' ';
    to += 1 + kv_digits(to + 1, e->size);
    if (o->uniques) {
        *to = ' ';
        to += 1 + kv_digits(to + 1, e->unique);
    }
    memcpy(to, "\r\n", 2);
    memcpy(to += 2, kv_value(e), e->size + 2);
    o->out->size += (size_t)(to + e->size + 2 - start);
    return true;
}

static void keys_end(struct one *o, const char *text)
{
    say(o, text);
    o->state = AT_REST;
}

/* Returns how much it has taken: 0 where a key has no end yet. */
static size_t take_key(struct one *o, const char *in, size_t n)
{
    size_t size = word_end(in, n);
    if (size == 0 && *in == ' ')
        return 1;
    if (size == n && n <= KV_KEY + 1)
        return 0;
    size_t key = size < n && in[size] == '\n' && size > 0 && in[size - 1] == '\r' ? size - 1 : size;
    if (key > KV_KEY) {
        keys_end(o, BAD_LINE);
        return 0;
    }
    if (key > 0 && kv_get(store, in, key, o->touches, o->exptime, shows, o) == KV_NO_MEMORY) {
        keys_end(o, "SERVER_ERROR out of memory writing get response");
        return 0;
    }
    if (in[size] != ' ')
        keys_end(o, "END");
    return size;
}

static size_t take_value(struct one *o, const char *in, size_t n)
{
    struct kv_entry *e = o->entry;
    size_t all = (size_t)e->size + 2, some = n < all - o->got ? n : all - o->got;
    memcpy(kv_value(e) + o->got, in, some);
    o->got += some;
    if (o->got == all) {
        o->entry = NULL;
        o->state = AT_LINE;
        if (memcmp(kv_value(e) + e->size, "\r\n", 2) == 0)
            say_result(o, kv_store(store, e, o->how, o->unique), "STORED");
        else {
            kv_abandon(store, e);
            say(o, "CLIENT_ERROR bad data chunk");
        }
    }
    return some;
}

static size_t swallow(struct one *o, size_t n)
{
    size_t some = n < o->left ? n : o->left;
    if ((o->left -= some) == 0)
        o->state = AT_LINE;
    return some;
}

/* ---- its line ---- */

static bool gets_first(const char *in, size_t n)
{
    size_t at = 0;
    while (at < n && at <= SPACES && in[at] == ' ')
        at++;
    return at <= SPACES && n - at >= 5 && (memcmp(in + at, "get ", 4) == 0 || memcmp(in + at, "gets ", 5) == 0);
}

/* Returns how much it has taken; 0 where the line has no end yet. */
static size_t take_begin(struct one *o, const char *in, size_t n)
{
    const char *end = memchr(in, '\n', n);
    size_t size = end != NULL ? (size_t)(end - in) : n;
    if (size > LINE && !gets_first(in, n)) {
        o->last = true;
        return 0;
    }
    if (end == NULL && n < SERVICE_ROOM)
        return 0;
    take_line(o, in, size - (size > 1 && in[size - 1] == '\r'));
    if (o->state == AT_KEYS)
        return o->keys;
    if (end == NULL)
        o->state = AT_REST;
    return size + (end != NULL);
}

static size_t take_rest(struct one *o, const char *in, size_t n)
{
    const char *end = memchr(in, '\n', n);
    if (end == NULL)
        return n;
    o->state = AT_LINE;
    return (size_t)(end - in) + 1;
}

static ssize_t feed(void *one, const char *in, size_t n, struct reply *out)
{
    struct one *o = one;
    size_t at = 0;
    o->out = out;
    while (at < n && out->size <= SERVICE_ENOUGH) {
        enum state before = o->state;
        size_t taken = 0;
        switch (before) {
        case AT_LINE:
            taken = take_begin(o, in + at, n - at);
            break;
        case AT_KEYS:
            taken = take_key(o, in + at, n - at);
            break;
        case AT_REST:
            taken = take_rest(o, in + at, n - at);
            break;
        case AT_VALUE:
            taken = take_value(o, in + at, n - at);
            break;
        case AT_SWALLOW:
            taken = swallow(o, n - at);
            break;
        }
        at += taken;
        if (o->last || o->no_memory)
            return SERVICE_CLOSE;
        if (taken == 0 && o->state == before)
            break;
    }
    return (ssize_t)at;
}

/* ---- the service ---- */

static void *start(struct bench *b)
{
    size_t memory = (size_t)bench_int(b, "memory") << 20, item = (size_t)bench_int(b, "item");
    if (memory / 4 < item)
        bench_die(b, BENCH_USAGE, "--memory must be at least four times --item, which is %zu B here: %zu MiB", item,
                  (4 * item + (1 << 20) - 1) >> 20);
    store = kv_new(memory, item);
    if (store == NULL)
        bench_die(b, BENCH_INTERNAL, "no memory");
    return NULL;
}

static void stop(void *all, struct bench *b)
{
    (void)all;
    uint64_t counts[KV_COUNTED];
    kv_counts(store, counts);
    bench_count(b, "items", (double)counts[KV_curr_items]);
    bench_count(b, "bytes", (double)counts[KV_bytes]);
    bench_count(b, "hits", (double)counts[KV_get_hits]);
    bench_count(b, "misses", (double)counts[KV_get_misses]);
    bench_count(b, "stores", (double)counts[KV_cmd_set]);
    bench_count(b, "evictions", (double)counts[KV_evictions]);
    kv_free(store);
}

static void *open_one(void *all)
{
    (void)all;
    struct one *o = calloc(1, sizeof *o);
    if (o != NULL) {
        /* relaxed: counts */
        atomic_fetch_add_explicit(&connections, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&connected, 1, memory_order_relaxed);
    }
    return o;
}

static void close_one(void *one)
{
    struct one *o = one;
    if (o->entry != NULL)
        kv_abandon(store, o->entry);
    atomic_fetch_sub_explicit(&connected, 1, memory_order_relaxed); /* relaxed: a count */
    free(o);
}

static const struct bench_option own[] = {
    {"memory", BENCH_INT, "64", 1, 1048576, NULL, "MiB",
     "for all entries, and the tables that find them; four times --item at least", NULL, 0, 0, false},
    {"item", BENCH_INT, "1048576", 1024, 134217728, NULL, "B",
     "the largest, with its key, as memcached's -I counts it", NULL, 0, 0, false},
};

const struct service service = {.name = "kvcache",
                                .about = "a cache by memcached's text protocol",
                                .own = own,
                                .n = sizeof own / sizeof *own,
                                .start = start,
                                .stop = stop,
                                .open = open_one,
                                .close = close_one,
                                .feed = feed};
