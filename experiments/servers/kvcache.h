/* SPDX-License-Identifier: MIT
 *
 * kvcache: what the bytes of a connection (kvcache.c) and the commands (kvlines.c) share.
 */
#ifndef KVCACHE_H
#define KVCACHE_H

#include "kvstore.h"

#include <stdatomic.h>

enum state { AT_LINE, AT_KEYS, AT_REST /* of a line that does not count */, AT_VALUE, AT_SWALLOW };

struct one {
    enum state state;
    bool silent; /* noreply: nothing is said at the end of this command */
    bool no_memory, last;
    struct reply *out; /* within feed */

    /* AT_KEYS */
    bool uniques, touches;
    int32_t exptime;
    size_t keys; /* where the first is in its line */

    /* AT_VALUE: got so much of the value and its "\r\n"; AT_SWALLOW: `left` bytes of one that is refused */
    struct kv_entry *entry;
    enum kv_how how;
    uint64_t unique;
    size_t got, left;
};

extern struct kv *store;
extern _Atomic(uint64_t) connections, connected; /* in all, now */

#define BAD_LINE "CLIENT_ERROR bad command line format"
#define BAD_TIME "CLIENT_ERROR invalid exptime argument"

/* The end of a command. */
void say(struct one *o, const char *text);
void say_result(struct one *o, enum kv_result result, const char *done);

/* Carry out a line, which has lost its end, or begin what it begins: then the state is no longer AT_LINE. Of a long line that
 * gets, the first bytes will do. */
void take_line(struct one *o, const char *in, size_t n);

/* The end of the word that begins at `in`; n where it has none there. */
static inline size_t word_end(const char *in, size_t n)
{
    size_t i = 0;
    while (i < n && in[i] != ' ' && in[i] != '\n' && in[i] != '\0')
        i++;
    return i;
}

#endif
