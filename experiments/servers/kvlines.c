/* SPDX-License-Identifier: MIT
 *
 * The commands of kvcache, and what they say.
 */
#include "kvcache.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 8 };

static _Atomic(uint64_t) flushes;

struct word {
    const char *text;
    size_t size;
};

struct line {
    const char *text;
    size_t size;
    struct word w[WORDS]; /* the first of its words */
    size_t n;             /* how many it has, WORDS meaning as many or more */
};

static bool is(struct word w, const char *text)
{
    return w.size == strlen(text) && memcmp(w.text, text, w.size) == 0;
}

/* ---- answers ---- */

void say(struct one *o, const char *text)
{
    if (!o->silent && !(reply_add(o->out, text, strlen(text)) && reply_add(o->out, "\r\n", 2)))
        o->no_memory = true;
    o->silent = false;
    o->out->requests++;
}

void say_result(struct one *o, enum kv_result result, const char *done)
{
    static const char *const texts[] = {
        [KV_NOT_STORED] = "NOT_STORED",
        [KV_EXISTS] = "EXISTS",
        [KV_NOT_FOUND] = "NOT_FOUND",
        [KV_TOO_LARGE] = "SERVER_ERROR object too large for cache",
        [KV_NO_MEMORY] = "SERVER_ERROR out of memory storing object",
        [KV_NOT_NUMBER] = "CLIENT_ERROR cannot increment or decrement non-numeric value",
    };
    say(o, result == KV_DONE ? done : texts[result]);
}

/* A whole number that is cut to 32 bits, as memcached does. */
static bool short_number(struct word w, int32_t *value)
{
    int64_t all;
    if (!kv_signed(w.text, w.size, &all))
        return false;
    *value = (int32_t)(uint32_t)(uint64_t)all;
    return true;
}

/* ---- get, gets, gat, gats ---- */

static bool good_keys(const char *in, size_t n)
{
    for (size_t size; n > 0; in += size, n -= size) {
        size = word_end(in, n);
        if (size > KV_KEY)
            return false;
        size += size == 0;
    }
    return true;
}

enum { UNIQUES = 1, TOUCHES = 2 };

static void get(struct one *o, const struct line *l, int which)
{
    const struct word *before = &l->w[which & TOUCHES ? 1 : 0];
    o->keys = (size_t)(before->text + before->size - l->text);
    o->uniques = which & UNIQUES;
    o->touches = which & TOUCHES;
    if (o->touches && !short_number(*before, &o->exptime))
        say(o, BAD_TIME);
    else if (!good_keys(l->text + o->keys, l->size - o->keys))
        say(o, BAD_LINE);
    else
        o->state = AT_KEYS;
}

/* ---- set and its kind ---- */

static void refuse(struct one *o, enum kv_how how, struct word key, size_t size, enum kv_result why)
{
    say_result(o, why, NULL);
    o->state = AT_SWALLOW;
    o->left = size + 2;
    if (how == KV_SET) /* better nothing than what should have been replaced */
        kv_delete(store, key.text, key.size, false);
}

static void store_begins(struct one *o, const struct line *l, int which)
{
    const struct word *w = l->w;
    enum kv_how how = (enum kv_how)which;
    uint64_t flags;
    int32_t exptime, size;
    if (w[1].size > KV_KEY || !kv_unsigned(w[2].text, w[2].size, &flags) || !short_number(w[3], &exptime) ||
        !short_number(w[4], &size) || size < 0 || size > INT32_MAX - 2 ||
        (how == KV_CAS && !kv_unsigned(w[5].text, w[5].size, &o->unique))) {
        say(o, BAD_LINE);
        return;
    }
    enum kv_result result =
        kv_reserve(store, w[1].text, w[1].size, (uint32_t)flags, exptime, (size_t)size, &o->entry);
    if (result != KV_DONE) {
        refuse(o, how, w[1], (size_t)size, result);
        return;
    }
    o->state = AT_VALUE;
    o->how = how;
    o->got = 0;
}

/* ---- the others ---- */

static void deletes(struct one *o, const struct line *l, int which)
{
    (void)which;
    const struct word *w = l->w;
    size_t n = l->n;
    bool zero = n > 2 && is(w[2], "0");
    o->silent = o->silent && n > 2; /* else that word is the key */
    if ((n == 3 && !zero && !o->silent) || (n == 4 && !(zero && o->silent)))
        say(o, BAD_LINE ".  Usage: delete <key> [noreply]");
    else if (w[1].size > KV_KEY)
        say(o, BAD_LINE);
    else
        say_result(o, kv_delete(store, w[1].text, w[1].size, true), "DELETED");
}

static void delta(struct one *o, const struct line *l, int add)
{
    const struct word *w = l->w;
    uint64_t by, value;
    if (w[1].size > KV_KEY) {
        say(o, BAD_LINE);
    } else if (!kv_unsigned(w[2].text, w[2].size, &by)) {
        say(o, "CLIENT_ERROR invalid numeric delta argument");
    } else {
        char text[21];
        enum kv_result result = kv_delta(store, w[1].text, w[1].size, add != 0, by, &value);
        if (result == KV_DONE)
            text[kv_digits(text, value)] = '\0';
        if (result == KV_NO_MEMORY)
            say(o, "SERVER_ERROR out of memory in incr");
        else
            say_result(o, result, text);
    }
}

static void touch(struct one *o, const struct line *l, int which)
{
    (void)which;
    const struct word *w = l->w;
    int32_t exptime;
    if (w[1].size > KV_KEY)
        say(o, BAD_LINE);
    else if (!short_number(w[2], &exptime))
        say(o, BAD_TIME);
    else
        say_result(o, kv_touch(store, w[1].text, w[1].size, exptime), "TOUCHED");
}

static void flush_all(struct one *o, const struct line *l, int which)
{
    (void)which;
    int32_t delay = 0;
    if (l->n > 1 + (size_t)o->silent && !short_number(l->w[1], &delay)) {
        say(o, BAD_TIME);
        return;
    }
    kv_flush(store, delay);
    atomic_fetch_add_explicit(&flushes, 1, memory_order_relaxed); /* relaxed: a count */
    say(o, "OK");
}

static void stat(struct one *o, const char *name, uint64_t value)
{
    char text[80];
    int n = snprintf(text, sizeof text, "STAT %s %llu\r\n", name, (unsigned long long)value);
    if (!reply_add(o->out, text, (size_t)n))
        o->no_memory = true;
}

static void stats(struct one *o, const struct line *l, int which)
{
    (void)which;
    static const char *const names[] = {
#define X(name) #name,
        KV_COUNTS(X)
#undef X
    };
    if (l->n == 2 && is(l->w[1], "reset")) {
        kv_reset(store);
        atomic_store_explicit(&flushes, 0, memory_order_relaxed); /* relaxed: a count */
        say(o, "RESET");
        return;
    }
    if (l->n != 1) {
        say(o, "ERROR");
        return;
    }
    uint64_t counts[KV_COUNTED];
    kv_counts(store, counts);
    stat(o, "pid", (uint64_t)getpid());
    stat(o, "uptime", kv_now(store));
    stat(o, "time", (uint64_t)time(NULL));
    stat(o, "pointer_size", 8 * sizeof(void *));
    /* relaxed: counts */
    stat(o, "curr_connections", atomic_load_explicit(&connected, memory_order_relaxed));
    stat(o, "total_connections", atomic_load_explicit(&connections, memory_order_relaxed));
    stat(o, "cmd_flush", atomic_load_explicit(&flushes, memory_order_relaxed));
    stat(o, "limit_maxbytes", kv_limit(store));
    for (int i = 0; i < KV_COUNTED; i++)
        stat(o, names[i], counts[i]);
    say(o, "END");
}

static void verbosity(struct one *o, const struct line *l, int which)
{
    (void)which;
    uint64_t level; /* of which there is one */
    say(o, kv_unsigned(l->w[1].text, l->w[1].size, &level) ? "OK" : BAD_LINE);
}

/* ---- lines ---- */

static void version(struct one *o, const struct line *l, int which)
{
    (void)l, (void)which;
    say(o, "VERSION 1.6.18"); /* whose protocol this is: clients ask for it to know what they may use */
}

static void quit(struct one *o, const struct line *l, int which)
{
    (void)l, (void)which;
    o->last = true;
}

static const struct verb {
    const char *name;
    size_t least, most; /* words, itself included; most: WORDS is any number */
    bool silences;      /* by a last word `noreply` */
    void (*does)(struct one *o, const struct line *l, int which);
    int which;
} verbs[] = {
    {"get", 2, WORDS, false, get, 0},
    {"set", 5, 6, true, store_begins, KV_SET},
    {"gets", 2, WORDS, false, get, UNIQUES},
    {"gat", 2, WORDS, false, get, TOUCHES},
    {"gats", 2, WORDS, false, get, UNIQUES | TOUCHES},
    {"bget", 2, WORDS, false, get, 0},
    {"add", 5, 6, true, store_begins, KV_ADD},
    {"replace", 5, 6, true, store_begins, KV_REPLACE},
    {"append", 5, 6, true, store_begins, KV_APPEND},
    {"prepend", 5, 6, true, store_begins, KV_PREPEND},
    {"cas", 6, 7, true, store_begins, KV_CAS},
    {"delete", 2, 4, true, deletes, 0},
    {"incr", 3, 4, true, delta, true},
    {"decr", 3, 4, true, delta, false},
    {"touch", 3, 4, true, touch, 0},
    {"flush_all", 1, 3, true, flush_all, 0},
    {"stats", 1, WORDS, false, stats, 0},
    {"version", 1, WORDS, false, version, 0},
    {"verbosity", 2, 3, true, verbosity, 0},
    {"quit", 1, WORDS, false, quit, 0},
};

static struct line split(const char *in, size_t n)
{
    const char *nul = memchr(in, '\0', n); /* where a line ends as well */
    struct line l = {.text = in, .size = nul != NULL ? (size_t)(nul - in) : n};
    for (size_t at = 0; l.n < WORDS;) {
        while (at < l.size && in[at] == ' ')
            at++;
        size_t size = word_end(in + at, l.size - at);
        if (size == 0)
            break;
        l.w[l.n++] = (struct word){in + at, size};
        at += size;
    }
    return l;
}

void take_line(struct one *o, const char *in, size_t n)
{
    struct line l = split(in, n);
    for (size_t i = 0; l.n > 0 && i < sizeof verbs / sizeof *verbs; i++) {
        const struct verb *v = &verbs[i];
        if (is(l.w[0], v->name)) {
            if (l.n < v->least || (l.n > v->most && v->most != WORDS))
                break;
            o->silent = v->silences && is(l.w[l.n - 1], "noreply");
            v->does(o, &l, v->which);
            return;
        }
    }
    say(o, "ERROR");
}
