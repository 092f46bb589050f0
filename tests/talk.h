/* SPDX-License-Identifier: MIT
 *
 * Texts that are sent to a service, as they are written down, one a line behind "> " (\@n; is the date in n
 * seconds); and what is made of them by chance: each is a corpus too.
 */
#ifndef TALK_H
#define TALK_H

#include "kvpeer.h"

#include <ctype.h>

static inline bool same(const struct text *a, const struct text *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->at, b->at, a->size) == 0);
}

static inline int nibble(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10;
}

static inline void unwritten(struct text *t, const char *line)
{
    for (const char *c = line; *c != '\0' && *c != '\n'; c++) {
        char byte = *c;
        if (c[0] == '\\' && c[1] == '@') {
            char date[24], *end;
            long in = strtol(c + 2, &end, 10);
            add(t, date, (size_t)snprintf(date, sizeof date, "%ld", (long)today() + in));
            c = end; /* at its semicolon */
            continue;
        }
        if (*c == '\\') {
            c++;
            byte = (char)(*c == 'r' ? '\r' : *c == 'n' ? '\n' : *c == 't' ? '\t' : *c);
            if (*c == 'x') {
                byte = (char)(nibble(c[1]) * 16 + nibble(c[2]));
                c += 2;
            }
        }
        add(t, &byte, 1);
    }
}

/* ---- fuzzing ---- */

static struct text *corpus; /* what was sent */
static size_t corpus_n;

static inline void read_corpus(const char *recording)
{
    static char line[1 << 16];
    FILE *f = fopen(recording, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (line[0] == '>') {
            corpus = __real_realloc(corpus, (corpus_n + 1) * sizeof *corpus);
            corpus[corpus_n] = (struct text){NULL, 0, 0};
            unwritten(&corpus[corpus_n++], line + 2);
        }
    if (f != NULL)
        fclose(f);
}

static inline void splice(struct text *t, size_t first, size_t n, const void *by, size_t size)
{
    struct text made = {NULL, 0, 0};
    add(&made, t->at, first);
    add(&made, by, size);
    add(&made, t->at + first + n, t->size - first - n);
    drop(t);
    *t = made;
}

struct bit {
    const char *at;
    size_t n;
};

/* One of the `bits`, which are words of the protocol, a byte, a few bytes less or twice, or a long word. */
static inline void mutate(struct text *t, uint64_t *state, const struct bit *bits, size_t n_bits)
{
    static char long_one[300];
    size_t first = t->size == 0 ? 0 : harness_random(state) % t->size;
    size_t n = harness_random(state) % 8;
    size_t some = n < t->size - first ? n : t->size - first;
    char byte = (char)harness_random(state);
    size_t bit = harness_random(state) % n_bits;
    switch (harness_random(state) % 6) {
    case 0:
        splice(t, first, some != 0, &byte, 1);
        break;
    case 1:
        splice(t, first, some, "", 0);
        break;
    case 2:
        splice(t, first, 0, t->at + first, some);
        break;
    case 3: /* 240 to 260 bytes of a key */
        memset(long_one, 'k', sizeof long_one);
        splice(t, first, 0, long_one, 240 + harness_random(state) % 21);
        break;
    default:
        splice(t, first, some, bits[bit].at, bits[bit].n);
    }
}

/* One to `most` of what was sent, damaged in up to nine places. */
static inline struct text damaged(uint64_t *state, size_t most, const struct bit *bits, size_t n_bits)
{
    struct text t = {NULL, 0, 0};
    for (size_t n = 1 + harness_random(state) % most; n > 0; n--) {
        const struct text *one = &corpus[harness_random(state) % corpus_n];
        add(&t, one->at, one->size);
    }
    for (size_t n = harness_random(state) % 10; n > 0; n--)
        mutate(&t, state, bits, n_bits);
    return t;
}

/* All of it on a service of its own, in pieces of 1 to `piece` bytes. */
static inline struct text fed(const struct text *t, size_t piece, uint64_t state, bool *closed)
{
    struct peer p;
    service.start(NULL);
    open_peer(&p);
    for (size_t at = 0, some; at < t->size; at += some) {
        some = piece == SIZE_MAX ? t->size : 1 + harness_random(&state) % piece;
        some = some < t->size - at ? some : t->size - at;
        sends_in(&p, t->at + at, some, SIZE_MAX);
    }
    struct text got = p.got;
    p.got = (struct text){NULL, 0, 0};
    *closed = p.closed;
    close_peer(&p);
    service.stop(NULL, NULL);
    return got;
}

#endif
