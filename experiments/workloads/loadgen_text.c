/* SPDX-License-Identifier: MIT
 *
 * Requests and answers of HTTP/1.1 and of memcached's text protocol.
 *
 * A key is its number in decimal, with zeros before it up to its size; its value begins with the same digits, so that an
 * answer to another request is not taken for the right one.
 */
#include "loadgen.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { DIGITS = 16 };

char *buffer_room(struct buffer *b, size_t n)
{
    if (b->room - b->size < n) {
        size_t room = b->room < 256 ? 256 : b->room;
        while (room - b->size < n)
            room *= 2;
        b->text = realloc(b->text, room);
        if (b->text == NULL)
            bench_die(load.b, BENCH_INTERNAL, "no memory");
        b->room = room;
    }
    return b->text + b->size;
}

/* ---- HTTP ---- */

static const char http[] = "HTTP/1.";

static void ask_http(struct buffer *out, bool last)
{
    size_t room = strlen(load.path) + sizeof load.host + 128;
    out->size += (size_t)snprintf(buffer_room(out, room), room, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", load.path,
                                  load.host, last ? "Connection: close\r\n" : "");
}

static int answer_http(const char *from, size_t n, size_t *taken, size_t *skip)
{
    static const char field[] = "\r\nContent-Length:";
    const char *end = memmem(from, n, "\r\n\r\n", 4), *at;
    if (memcmp(from, http, n < sizeof http - 1 ? n : sizeof http - 1) !=
        0) /* which other protocols begin otherwise */
        return ANSWER_NONSENSE;
    if (end == NULL)
        return n > 16384 ? ANSWER_NONSENSE : ANSWER_MORE;
    if (end - from < 12)
        return ANSWER_NONSENSE;
    for (at = from; (at = memchr(at, '\r', (size_t)(end - at))) != NULL; at++)
        if (strncasecmp(at, field, sizeof field - 1) == 0)
            break;
    if (at == NULL)
        return ANSWER_NONSENSE; /* of a length that is not said: not here */
    *skip = strtoull(at + sizeof field - 1, NULL, 10);
    *taken = (size_t)(end + 4 - from);
    return memcmp(from + 9, "200", 3) == 0 ? ANSWER_GOOD : ANSWER_BAD;
}

/* ---- memcached ---- */

static void ask_memcached(struct buffer *out, const struct request *r)
{
    uint32_t key, value;
    chance_sizes(r->key, &key, &value);
    char *to = buffer_room(out, key + value + 64);
    if (!r->write) {
        out->size += (size_t)sprintf(to, "get %0*" PRIu64 "\r\n", (int)key, r->key);
        return;
    }
    int n = sprintf(to, "set %0*" PRIu64 " 0 0 %" PRIu32 "\r\n", (int)key, r->key, value);
    memset(to + n, '.', value);
    char digits[DIGITS + 1];
    snprintf(digits, sizeof digits, "%0*" PRIu64, DIGITS, r->key);
    memcpy(to + n, digits, value < DIGITS ? value : DIGITS);
    memcpy(to + n + value, "\r\n", 2);
    out->size += (size_t)n + value + 2;
}

/* Is that the beginning of an answer of memcached's, to a request of ours? "ERROR" alone is to what it does not know. */
static bool is_memcached(const char *from, size_t n)
{
    static const char *const words[] = {"VALUE ", "END\r",         "STORED\r",     "ERROR ",
                                        "NOT_",   "SERVER_ERROR ", "CLIENT_ERROR "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memcmp(from, words[i], n < strlen(words[i]) ? n : strlen(words[i])) == 0)
            return true;
    return false;
}

static int answer_memcached(const struct request *r, const char *from, size_t n, size_t *taken, size_t *skip)
{
    const char *end = memmem(from, n, "\r\n", 2);
    if (!is_memcached(from, n))
        return ANSWER_NONSENSE;
    if (end == NULL)
        return n > 2048 ? ANSWER_NONSENSE : ANSWER_MORE;
    size_t line = (size_t)(end - from);
    *taken = line + 2;
    *skip = 0;
    if (r->write)
        return line == 6 && memcmp(from, "STORED", 6) == 0 ? ANSWER_GOOD : ANSWER_BAD;
    if (line == 3 && memcmp(from, "END", 3) == 0)
        return ANSWER_MISS;
    uint32_t key, value;
    char text[320], digits[DIGITS + 1];
    chance_sizes(r->key, &key, &value);
    int head = snprintf(text, sizeof text, "VALUE %0*" PRIu64 " 0 %" PRIu32, (int)key, r->key, value);
    if (line != (size_t)head || memcmp(from, text, line) != 0)
        return memcmp(from, "VALUE", line < 5 ? line : 5) == 0 ? ANSWER_NONSENSE : ANSWER_BAD;
    uint32_t seen = value < DIGITS ? value : DIGITS;
    if (n < *taken + seen)
        return ANSWER_MORE;
    snprintf(digits, sizeof digits, "%0*" PRIu64, DIGITS, r->key);
    if (memcmp(from + *taken, digits, seen) != 0)
        return ANSWER_NONSENSE;
    *taken += seen;
    *skip = value - seen + sizeof "\r\nEND\r\n" - 1;
    return ANSWER_GOOD;
}

/* Says why a key was not, by n bytes of the answer; none: by errno. */
static bool unstored(const char *line, ssize_t n)
{
    const int error = n < 0 ? errno : ECONNRESET;
    char text[200];
    if (n > 0 && is_memcached(line, (size_t)n))
        bench_invalid(load.b, "the server does not store: %s", text_line(text, sizeof text, line, (size_t)n));
    else if (n > 0) {
        text_nonsense(text, sizeof text, &(struct request){.write = true}, line, (size_t)n);
        bench_invalid(load.b, "%s", text);
    } else if (error == EAGAIN)
        bench_invalid(load.b, "nothing was answered to a set: wrong --protocol, or too short a --timeout?");
    else if (!server_lost(load.b, 1))
        bench_invalid(load.b, "the server does not store, and ends the connection: %s; wrong --protocol?",
                      strerror(error));
    return false;
}

/* Who is stopped and goes on hears EINTR of a call with a time-out. */
static bool stored(int fd, const struct buffer *out)
{
    char line[64];
    ssize_t n;
    for (size_t sent = 0; sent < out->size;) {
        n = send(fd, out->text + sent, out->size - sent, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return unstored("", n);
        sent += n > 0 ? (size_t)n : 0;
    }
    do
        n = recv(fd, line, sizeof line - 1, 0); /* so short a line comes at once */
    while (n < 0 && errno == EINTR);
    line[n > 0 ? n : 0] = '\0';
    return (n >= 6 && memcmp(line, "STORED", 6) == 0) || unstored(line, n);
}

bool text_preload(void)
{
    struct buffer out = {NULL, 0, 0};
    struct timeval patience = {.tv_sec = (time_t)load.timeout,
                               .tv_usec = (suseconds_t)((load.timeout - floor(load.timeout)) * 1e6)};
    int fd = connection_open(0, true);
    int error = errno;
    if (fd < 0 && server_lost(load.b, 1))
        return false;
    if (fd < 0) {
        char to[BENCH_ADDRESS_TEXT];
        bench_die(load.b, BENCH_INTERNAL, "no connection to %s: %s", bench_address_text(&load.to, to),
                  bench_address_wrong(&load.to, false, error));
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    bool good = true;
    for (uint64_t key = 0; key < load.keys && good; key++) {
        out.size = 0;
        ask_memcached(&out, &(struct request){.key = key, .write = true});
        good = stored(fd, &out);
    }
    close(fd);
    free(out.text);
    return good;
}

/* ---- both ---- */

void text_ask(struct buffer *out, const struct request *r, bool last)
{
    if (load.memcached)
        ask_memcached(out, r);
    else
        ask_http(out, last);
}

int text_answer(const struct request *r, const char *from, size_t n, size_t *taken, size_t *skip)
{
    return load.memcached ? answer_memcached(r, from, n, taken, skip) : answer_http(from, n, taken, skip);
}

const char *text_line(char *to, size_t room, const char *from, size_t n)
{
    size_t i;
    for (i = 0; i < n && i < room - 1 && from[i] != '\r' && from[i] != '\n'; i++)
        to[i] = from[i] < ' ' || from[i] > '~' ? '.' : from[i];
    to[i] = '\0';
    return to;
}

void text_nonsense(char *to, size_t room, const struct request *r, const char *from, size_t n)
{
    char line[64];
    const char *why = load.memcached ? "which is no answer of memcached's: wrong --protocol?"
                                     : "which is no answer of HTTP: wrong --protocol?";
    if (r == NULL)
        why = "for which nobody asked";
    else if (load.memcached && is_memcached(from, n))
        why = "which is not what was stored: does someone else write there?";
    else if (!load.memcached && n >= sizeof http - 1 && memcmp(from, http, sizeof http - 1) == 0)
        why = "which does not say its Content-Length: another --path?";
    snprintf(to, room, "received \"%s\", %s", text_line(line, sizeof line, from, n), why);
}
