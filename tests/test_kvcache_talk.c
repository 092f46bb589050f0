/* SPDX-License-Identifier: MIT
 *
 * kvcache against what Debian's memcached has answered, however that is cut into pieces; and against itself, on what has been
 * made of it by chance: the same bytes, differently cut, have the same answers.
 *
 *     test_kvcache_talk RECORDING
 */
#include "talk.h"

/* ---- the recording ---- */

static const char *recording;

enum how { ONE_BY_ONE, BYTES, STREAM, CUT };

/* From one pause to the next, in which all is sent at once. */
struct stretch {
    struct text sent, wanted;
};

static int exchanges;

static void end_stretch(struct peer *p, struct stretch *s, enum how how, size_t cut, const char *name)
{
    if (how == STREAM)
        sends_in(p, s->sent.at, s->sent.size, SIZE_MAX);
    if (how == CUT && cut < s->sent.size) {
        sends_in(p, s->sent.at, cut, SIZE_MAX);
        sends_in(p, s->sent.at + cut, s->sent.size - cut, SIZE_MAX);
    } else if (how == CUT)
        sends_in(p, s->sent.at, s->sent.size, SIZE_MAX);
    if (!CHECK(same(&p->got, &s->wanted)))
        harness_note("in conversation %s, cut at %zu", name, cut);
    p->got.size = s->sent.size = s->wanted.size = 0;
}

static void exchange(struct peer *p, const struct text *sent, const struct text *wanted, enum how how,
                     const char *name)
{
    sends_in(p, sent->at, sent->size, how == BYTES ? 1 : SIZE_MAX);
    if (!CHECK(same(&p->got, wanted)))
        harness_note("in conversation %s: sent %.*s, wanted %.*s, got %.*s", name, (int)sent->size, sent->at,
                     (int)wanted->size, wanted->at, (int)p->got.size, p->got.at);
    p->got.size = 0;
}

/* Returns the bytes of the longest stretch that it sent, of conversations whose name begins so. */
static size_t replay(const char *which, enum how how, size_t cut)
{
    static char line[1 << 16];
    char name[64] = "";
    struct peer p = {.one = NULL};
    struct stretch s = {{NULL, 0, 0}, {NULL, 0, 0}};
    struct text sent = {NULL, 0, 0}, wanted = {NULL, 0, 0};
    size_t longest = 0;
    bool on = false;
    FILE *f = fopen(recording, "r");
    if (!CHECK(f != NULL))
        return 0;
    exchanges = 0;
    for (bool more = true; more;) {
        more = fgets(line, sizeof line, f) != NULL;
        if (on && (!more || line[0] == '=' || line[0] == '~')) {
            longest = s.sent.size > longest ? s.sent.size : longest;
            end_stretch(&p, &s, how, cut, name);
            if (more && line[0] == '~')
                atomic_fetch_add(&second, atoi(line + 2));
        }
        if (on && (!more || line[0] == '=')) {
            close_peer(&p);
            service.stop(NULL, NULL);
            on = false;
        }
        if (!more)
            break;
        if (line[0] == '=') {
            snprintf(name, sizeof name, "%.50s", line + 2);
            on = strncmp(name, which, strlen(which)) == 0;
            if (on) {
                service.start(NULL);
                open_peer(&p);
            }
        } else if (on && line[0] == '>') {
            sent.size = 0;
            unwritten(&sent, line + 2);
            exchanges++;
        } else if (on && line[0] == '<') {
            wanted.size = 0;
            unwritten(&wanted, line[1] == ' ' ? line + 2 : "");
            if (how == STREAM || how == CUT) {
                add(&s.sent, sent.at, sent.size);
                add(&s.wanted, wanted.at, wanted.size);
            } else
                exchange(&p, &sent, &wanted, how, name);
        }
    }
    fclose(f);
    drop(&sent);
    drop(&wanted);
    drop(&s.sent);
    drop(&s.wanted);
    return longest;
}

static void test_recorded(void)
{
    replay("", ONE_BY_ONE, 0);
    CHECK(exchanges >= 500);
}

static void test_bytes(void)
{
    replay("", BYTES, 0);
}

static void test_stream(void)
{
    replay("", STREAM, 0);
}

/* In two, at each boundary there is. */
static void test_cut(void)
{
    static const char *const which[] = {"stores", "times", "flushes", "later", "random 0"};
    for (size_t i = 0; i < sizeof which / sizeof *which; i++)
        for (size_t cut = 1, n = 2; cut < n; cut++)
            n = replay(which[i], CUT, cut);
}

/* ---- fuzzing: the recording is the corpus ---- */

static const struct bit bits[] = {{"-1", 2},
                                  {"0", 1},
                                  {"4294967296", 10},
                                  {"2147483645", 10},
                                  {"18446744073709551615", 20},
                                  {"99999999999999999999", 20},
                                  {"\r\n", 2},
                                  {"\n", 1},
                                  {"\r", 1},
                                  {"\0", 1},
                                  {" ", 1},
                                  {"noreply", 7},
                                  {" noreply\r\n", 10},
                                  {"get ", 4},
                                  {"\x80", 1},
                                  {"1048576", 7},
                                  {"65000", 5},
                                  {"set a 0 0 ", 10},
                                  {"gats 0 ", 7},
                                  {"\t", 1}};

/* Does each line begin as one of the protocol, values left out? */
static bool well_formed(const struct text *t)
{
    static const char *const lines[] = {
        "STORED", "NOT_STORED", "EXISTS",    "NOT_FOUND",     "DELETED", "TOUCHED", "OK",           "END",
        "ERROR",  "RESET",      "VERSION 1", "CLIENT_ERROR ", "STAT ",   "VALUE ",  "SERVER_ERROR "};
    size_t at = 0;
    while (at < t->size) {
        const char *end = memchr(t->at + at, '\n', t->size - at);
        size_t n = end != NULL ? (size_t)(end - t->at) + 1 - at : 0, i = 0, value = 0;
        bool number = n > 2;
        if (n < 3 || end[-1] != '\r')
            return false;
        for (size_t k = 0; k + 2 < n; k++)
            number = number && isdigit((unsigned char)t->at[at + k]);
        while (i < sizeof lines / sizeof *lines && strncmp(t->at + at, lines[i], strlen(lines[i])) != 0)
            i++;
        if (!number && i == sizeof lines / sizeof *lines)
            return false;
        if (!number && strncmp(t->at + at, "VALUE ", 6) == 0) {
            const char *key = t->at + at + 6, *after = memchr(key, ' ', n - 6);
            if (after == NULL || after - key > 250 || sscanf(after, " %*u %zu", &value) != 1)
                return false;
            n += value + 2;
        }
        at += n;
    }
    return at == t->size;
}

static void test_fuzz(void)
{
    static const size_t pieces[] = {1, 7, 300};
    uint64_t seed = harness_seed();
    read_corpus(recording);
    CHECK(corpus_n >= 500);
    for (int round = 0; round < 3000; round++) {
        if (!harness_round(seed + (uint64_t)round))
            break;
        uint64_t state = seed + (uint64_t)round;
        struct text t = damaged(&state, 12, bits, sizeof bits / sizeof *bits);
        bool closed, was;
        struct text whole = fed(&t, SIZE_MAX, 0, &was);
        bool good = CHECK(well_formed(&whole));
        add(&whole, "", 1);
        bool stats = strstr(whole.at, "STAT ") != NULL; /* these count connections */
        whole.size--;
        struct text other = fed(&t, pieces[round % 3], state, &closed);
        good = good && CHECK_EQUAL(closed, was) && (stats || CHECK(same(&whole, &other)));
        if (!good)
            harness_note("sent: %.*s", (int)t.size, t.at);
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
    static const struct test tests[] = {
        {"what memcached answered", test_recorded}, {"byte by byte", test_bytes}, {"all at once", test_stream},
        {"cut at each boundary", test_cut},         {"fuzz", test_fuzz},
    };
    recording = argc == 2 ? argv[1] : "";
    return HARNESS_RUN("kvcache talk", tests);
}
