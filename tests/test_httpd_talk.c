/* SPDX-License-Identifier: MIT
 *
 * httpd without a front-end: what it answers to what is right, wrong and neither, however that is cut into pieces; and the same
 * of what has been made of it by chance.
 *
 *     test_httpd_talk CORPUS
 */
#include "talk.h"

static const char *recording;

const char *bench_text(const struct bench *b, const char *name)
{
    (void)b, (void)name;
    return NULL; /* no --files: answers are texts */
}

/* The statuses of all answers, and "end" where the connection is over; "?" behind what is no answer. After HEAD, `heads`, an
 * answer has no body. */
static void described(const struct text *t, bool closed, bool heads, struct text *out)
{
    static const char field[] = "\r\nContent-Length: ";
    size_t at = 0;
    out->size = 0;
    while (at < t->size) {
        const char *from = t->at + at, *end = memmem(from, t->size - at, "\r\n\r\n", 4), *length = NULL;
        if (end != NULL && memcmp(from, "HTTP/1.1 ", 9) == 0)
            length = memmem(from, (size_t)(end - from), field, sizeof field - 1);
        size_t head = length != NULL ? (size_t)(end + 4 - from) : 0;
        size_t body = length != NULL && !heads ? strtoull(length + sizeof field - 1, NULL, 10) : 0;
        if (end != NULL && memcmp(from, "HTTP/1.1 100", 12) == 0) {
            add(out, "100 ", 4); /* which has neither fields nor a body */
            at += (size_t)(end + 4 - from);
            continue;
        }
        if (length == NULL || body > t->size - at - head) {
            add(out, "? ", 2);
            break;
        }
        add(out, from + 9, 3);
        add(out, " ", 1);
        at += head + body;
    }
    if (closed)
        add(out, "end ", 4);
    if (out->size > 0)
        out->size--;
    add(out, "", 1);
}

static void says(const char *name, const struct text *sent, const char *wanted, size_t cut)
{
    struct text said = {NULL, 0, 0};
    struct peer p;
    open_peer(&p);
    sends_in(&p, sent->at, cut, SIZE_MAX);
    sends_in(&p, sent->at + cut, sent->size - cut, cut == 0 ? 1 : SIZE_MAX);
    described(&p.got, p.closed, strcmp(name, "head") == 0, &said);
    if (!CHECK(strcmp(said.at, wanted) == 0))
        harness_note("%s, cut at %zu: %s, wanted %s", name, cut, said.at, wanted);
    drop(&said);
    close_peer(&p);
}

/* Byte by byte, and in two at each boundary there is, of which the last leaves it whole. */
static void test_answers(void)
{
    static char line[1 << 16];
    char name[64] = "";
    int conversations = 0;
    struct text sent = {NULL, 0, 0};
    FILE *f = fopen(recording, "r");
    if (!CHECK(f != NULL))
        return;
    service.start(NULL);
    while (fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '=') {
            snprintf(name, sizeof name, "%.60s", line + 2);
        } else if (line[0] == '>') {
            sent.size = 0;
            unwritten(&sent, line + 2);
        } else if (line[0] == '<') {
            conversations++;
            for (size_t cut = 0; cut <= sent.size; cut += sent.size < 500 || cut > sent.size - 100 ? 1 : 97)
                says(name, &sent, line[1] == ' ' ? line + 2 : "", cut);
        }
    }
    CHECK(conversations >= 60);
    fclose(f);
    drop(&sent);
    service.stop(NULL, NULL);
    CHECK_EQUAL(atomic_load(&blocks), 0);
}

static const struct bit bits[] = {{"\r\n", 2},
                                  {"\n", 1},
                                  {"\r", 1},
                                  {"\0", 1},
                                  {" ", 1},
                                  {":", 1},
                                  {"%", 1},
                                  {"/", 1},
                                  {"HTTP/1.1", 8},
                                  {"HTTP/9.9", 8},
                                  {"Content-Length: 5\r\n", 19},
                                  {"Content-Length:", 15},
                                  {"Transfer-Encoding: chunked\r\n", 28},
                                  {"18446744073709551615", 20},
                                  {"-1", 2},
                                  {"Connection: close\r\n", 19},
                                  {"Upgrade: x\r\nConnection: upgrade\r\n", 33},
                                  {"HEAD /plaintext HTTP/1.1\r\nHost: a\r\n\r\n", 37},
                                  {"Host: a\r\n", 9},
                                  {"Expect: 100-continue\r\n", 22},
                                  {"Transfer-Encoding: chu \r\n", 26},
                                  {"Host: a \r\n b\r\n", 14},
                                  {"5\r\nabcde\r\n0\r\n\r\n", 15},
                                  {"\x80", 1}};

static int shown(const struct text *t)
{
    return t->size < 900 ? (int)t->size : 900;
}

/* Which of several things is wrong with a head, that it is too large or what comes behind that, may hang on how it was cut: the parser
 * counts at the end of what it is shown. */
static void without_last_error(struct text *t)
{
    static const char *const last[] = {"400 Bad Request", "431 Request Header Fields Too Large",
                                       "501 Not Implemented", "505 HTTP Version Not Supported"};
    for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
        size_t n = strlen(last[i]);
        if (t->size < n || memcmp(t->at + t->size - n, last[i], n) != 0)
            continue;
        do
            t->size--;
        while (t->size > 0 && memcmp(t->at + t->size, "HTTP/1.1 ", 9) != 0);
        return;
    }
}

/* The same bytes, differently cut, have the same answers, to the byte. */
static void test_fuzz(void)
{
    static const size_t pieces[] = {1, 7, 300};
    uint64_t seed = harness_seed();
    read_corpus(recording);
    CHECK(corpus_n >= 60);
    for (int round = 0; round < 3000; round++) {
        if (!harness_round(seed + (uint64_t)round))
            break;
        uint64_t state = seed + (uint64_t)round;
        struct text t = damaged(&state, 6, bits, sizeof bits / sizeof *bits);
        bool closed, was;
        struct text whole = fed(&t, SIZE_MAX, 0, &was), other = fed(&t, pieces[round % 3], state, &closed);
        without_last_error(&whole);
        without_last_error(&other);
        bool good = CHECK_EQUAL(closed, was) && CHECK(same(&whole, &other));
        if (!good)
            harness_note("of %zu bytes: %.*s\nin pieces: %.*s", t.size, shown(&whole), whole.at, shown(&other),
                         other.at);
        drop(&whole);
        drop(&other);
        drop(&t);
        if (!good)
            break;
    }
    CHECK_EQUAL(atomic_load(&blocks), 0);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {{"answers, however they are cut", test_answers}, {"fuzz", test_fuzz}};
    recording = argc == 2 ? argv[1] : "";
    return HARNESS_RUN("httpd talk", tests);
}
