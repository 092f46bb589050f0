/* SPDX-License-Identifier: MIT
 *
 * The limits of kvcache; its memory, also where there is none; and several threads at once.
 */
#include "kvpeer.h"
#include "kvstore.h"

#include <pthread.h>

static void says(struct peer *p, const char *text)
{
    sends_in(p, text, strlen(text), SIZE_MAX);
}

/* All that has been answered since the last time. */
static bool answers(struct peer *p, const char *wanted)
{
    bool good = p->got.size == strlen(wanted) && (p->got.size == 0 || memcmp(p->got.at, wanted, p->got.size) == 0);
    if (!good)
        harness_note("wanted: %.200s, got: %.*s", wanted, p->got.size < 300 ? (int)p->got.size : 300, p->got.at);
    p->got.size = 0;
    return good;
}
#define ANSWERS(peer, text, wanted) (says(peer, text), CHECK(answers(peer, wanted)))

/* ---- limits ---- */

static struct peer at;

static void begin(int64_t mib, int64_t item)
{
    memory_mib = mib;
    item_bytes = item;
    service.start(NULL);
    open_peer(&at);
}

static void end(void)
{
    close_peer(&at);
    service.stop(NULL, NULL);
    memory_mib = 64;
    item_bytes = 1048576;
}

static void set(struct peer *p, const char *key, unsigned flags, size_t n)
{
    static char value[1 << 20];
    char head[400];
    if (value[0] == '\0')
        memset(value, 'v', sizeof value);
    snprintf(head, sizeof head, "set %s %u 0 %zu\r\n", key, flags, n);
    says(p, head);
    sends_in(p, value, n, SIZE_MAX);
    says(p, "\r\n");
}

/* The sizes are those at which memcached 1.6.18 with its default -I 1m says so. */
static void test_item(void)
{
    static const struct {
        const char *key;
        unsigned flags;
        size_t most;
    } rows[] = {{"a", 0, 1048516}, {"a", 7, 1048512}, {"abcdefghij", 0, 1048507}, {"abcdefghij", 7, 1048503}};
    begin(64, 1048576);
    for (int i = 0; i < 4; i++) {
        set(&at, rows[i].key, rows[i].flags, rows[i].most);
        CHECK(answers(&at, "STORED\r\n"));
        set(&at, rows[i].key, rows[i].flags, rows[i].most + 1);
        CHECK(answers(&at, "SERVER_ERROR object too large for cache\r\n"));
    }
    ANSWERS(&at, "get a abcdefghij\r\n", "END\r\n"); /* what could not be replaced is gone */
    set(&at, "a", 5, 1048501);
    CHECK(answers(&at, "STORED\r\n"));
    ANSWERS(&at, "append a 0 0 20\r\n01234567890123456789\r\n", "NOT_STORED\r\n");
    ANSWERS(&at, "append a 0 0 11\r\n01234567890\r\n", "STORED\r\n");
    ANSWERS(&at, "add a 0 0 1100000 noreply\r\n", ""); /* an add replaces nothing */
    sends_in(&at, (char[1100002]){0}, 1100002, 5000);
    ANSWERS(&at, "append a 0 0 0\r\n\r\n", "STORED\r\n");
    end();
}

static void test_lines(void)
{
    struct text long_one = {NULL, 0, 0};
    char key[400] = "";
    begin(64, 1048576);
    ANSWERS(&at, "set k7 0 0 1\r\nx\r\n", "STORED\r\n");
    add(&long_one, "get", 3);
    for (int i = 0; i < 30000; i++)
        add(&long_one, key, (size_t)snprintf(key, sizeof key, " k%d", i));
    for (size_t piece = 1; piece < 1 << 20; piece *= 29) {
        sends_in(&at, long_one.at, long_one.size, piece);
        ANSWERS(&at, "\r\n", "VALUE k7 0 1\r\nx\r\nEND\r\n");
    }
    memset(key, 'k', 251);
    key[251] = '\0';
    sends_in(&at, long_one.at, long_one.size, SIZE_MAX);
    says(&at, " ");
    says(&at, key);
    ANSWERS(&at, " k7\r\nversion\r\n",
            "VALUE k7 0 1\r\nx\r\nCLIENT_ERROR bad command line format\r\nVERSION 1.6.18\r\n");
    key[250] = '\0';
    ANSWERS(&at, "set ", "");
    says(&at, key);
    ANSWERS(&at, " 0 0 1\r\nx\r\n", "STORED\r\n");
    for (size_t piece = 1; piece < 9000; piece += 250) {
        sends_in(&at, long_one.at, long_one.size, piece);
        sends_in(&at, " ", 1, 1);
        sends_in(&at, key, 250, piece);
        sends_in(&at, "\r\n", 2, piece);
        CHECK_EQUAL(at.got.size, sizeof "VALUE k7 0 1\r\nx\r\nVALUE  0 1\r\nx\r\nEND\r\n" - 1 + 250);
        at.got.size = 0;
    }
    CHECK(!at.closed);
    ANSWERS(&at, "version\r\nquit\r\nversion\r\n", "VERSION 1.6.18\r\n");
    CHECK(at.closed);
    for (size_t piece = 1; piece < 1 << 20; piece *= 31) { /* however it is cut */
        close_peer(&at);
        open_peer(&at);
        for (int i = 0; i < 2048; i++)
            sends_in(&at, "x", 1, 1);
        ANSWERS(&at, "\r\n", "");
        CHECK(at.closed);
        close_peer(&at);
        open_peer(&at);
        for (int i = 0; i < 101; i++)
            sends_in(&at, " ", 1, 1);
        sends_in(&at, long_one.at, long_one.size, piece);
        CHECK(at.closed);
        close_peer(&at);
        open_peer(&at);
        says(&at, "gat 0");
        sends_in(&at, long_one.at + 3, long_one.size - 3, piece);
        CHECK(at.closed);
    }
    drop(&long_one);
    end();
}

/* Answers wait, at most so many, until those before them have been sent. */
static void test_piles(void)
{
    begin(64, 1048576);
    set(&at, "a", 0, 100000);
    CHECK(answers(&at, "STORED\r\n"));
    for (int i = 0; i < 1000; i++)
        add(&at.in, "get a a a\r\nget a\r\n", 18);
    says(&at, "version\r\n");
    CHECK_EQUAL(at.got.size, 4000 * (size_t)(sizeof "VALUE a 0 100000\r\n\r\n" - 1 + 100000) + 2000 * 5 + 16);
    CHECK(at.most < SERVICE_ENOUGH + 101000);
    end();
}

/* ---- memory ---- */

static void test_least_recent(void)
{
    char key[32], wanted[64];
    begin(1, 262144); /* one shard */
    for (int i = 0; i < 90; i++) {
        snprintf(key, sizeof key, "k%d", i);
        set(&at, key, 0, 10000);
    }
    at.got.size = 0;
    says(&at, "get k0\r\ntouch k1 0\r\nincr k2 1\r\nadd k3 0 0 1\r\nx\r\nappend k4 0 0 1\r\nx\r\n");
    for (int i = 100; i < 140; i++) {
        snprintf(key, sizeof key, "k%d", i);
        set(&at, key, 0, 10000);
    }
    at.got.size = 0;
    for (int i = 0; i < 140; i++) {
        if (i == 90)
            i = 100;
        bool kept = i == 0 || i == 1 || i == 3 || i == 4 || i >= 35;
        if (i > 4 && !kept && i > 25)
            continue; /* how many fit exactly is the business of the store */
        snprintf(key, sizeof key, "append k%d 0 0 0\r\n\r\n", i);
        snprintf(wanted, sizeof wanted, "%s", kept ? "STORED\r\n" : "NOT_STORED\r\n");
        says(&at, key);
        if (!CHECK(answers(&at, wanted)))
            harness_note("k%d", i);
    }
    end();
}

/* Others go, though what grows is itself what has not been used for longest. */
static void test_grows(void)
{
    char key[32];
    for (int small = 0; small < 2; small++) {
        begin(1, 262144);
        ANSWERS(&at, "set n 3 0 1\r\n9\r\n", "STORED\r\n");
        for (int i = 0; i < (small ? 850 : 3); i++) {
            snprintf(key, sizeof key, "k%d", i);
            set(&at, key, 0, small ? 900 : 262000);
        }
        at.got.size = 0;
        set(&at, "last", 0,
            small ? 50000 : 100000); /* of 1 MiB about 150 KiB are left, and n needs 200000 bytes meanwhile */
        CHECK(answers(&at, "STORED\r\n"));
        says(&at, "append n 0 0 100000\r\n");
        for (int i = 0; i < 100; i++)
            sends_in(&at, (char[1000]){0}, 1000, SIZE_MAX);
        ANSWERS(&at, "\r\n", "STORED\r\n");
        ANSWERS(&at, "prepend n 0 0 1\r\n8\r\nget k0\r\n", "STORED\r\nEND\r\n");
        says(&at, "get n\r\n");
        CHECK(at.got.size > 100000 && memcmp(at.got.at, "VALUE n 3 100002\r\n89", 20) == 0);
        end();
    }
    CHECK_EQUAL(atomic_load(&blocks), 0);
}

static void test_holds(void)
{
    uint64_t state = harness_seed();
    char key[320];
    for (int round = 0; round < 3; round++) {
        begin(round == 0 ? 1 : 8, round == 2 ? 1048576 : 65536);
        long before = atomic_load(&bytes), most = 0;
        for (int i = 0; i < 40000; i++) {
            size_t n = harness_random(&state) % (i % 100 == 0 ? 60000 : round == 1 ? 40 : 2000);
            snprintf(key, sizeof key, "%0*d", 1 + (int)(harness_random(&state) % (i % 10 == 0 ? 200 : 10)), i);
            set(&at, key, 0, n);
            most = atomic_load(&bytes) - before > most ? atomic_load(&bytes) - before : most;
            if (!CHECK(answers(&at, "STORED\r\n")))
                break;
        }
        CHECK(most <= memory_mib << 20);
        CHECK(most > (memory_mib << 20) * 8 / 10); /* and it is used */
        harness_note("%ld of %ld bytes", most, (long)memory_mib << 20);
        end();
        CHECK_EQUAL(atomic_load(&blocks), 0);
    }
}

/* What is on its way counts as well; when it does not come, the memory is there again. */
static void test_on_its_way(void)
{
    struct peer p[5];
    begin(1, 262144);
    for (int i = 0; i < 5; i++) {
        open_peer(&p[i]);
        ANSWERS(&p[i], "set a 0 0 262000\r\n", i < 3 ? "" : "SERVER_ERROR out of memory storing object\r\n");
    }
    ANSWERS(&at, "set b 0 0 100000\r\n", "");
    ANSWERS(&at, "version\r\n", "");
    for (int i = 0; i < 5; i++)
        close_peer(&p[i]);
    close_peer(&at);
    open_peer(&at);
    for (int i = 0; i < 10; i++) {
        set(&at, "a", 0, 262000);
        CHECK(answers(&at, "STORED\r\n"));
    }
    end();
    CHECK_EQUAL(atomic_load(&blocks), 0);
}

/* Each allocation fails once: it is said so, or the connection ends, and what was there is there. */
static void test_no_memory(void)
{
    static const char talk[] =
        "set a 0 0 1\r\n1\r\nappend a 0 0 9\r\n999999999\r\nprepend a 0 0 1\r\n9\r\nset n 0 0 1\r\n9\r\n"
        "incr n 1\r\nget a n\r\ncas b 0 0 1 1\r\nx\r\nadd c 0 0 1\r\nx\r\nstats\r\n";
    static const char *const texts[] = {"SERVER_ERROR out of memory storing object",
                                        "SERVER_ERROR out of memory in incr",
                                        "SERVER_ERROR out of memory writing get response"};
    bool seen[3] = {false, false, false}, ended = false;
    begin(64, 1048576);
    for (int k = 0, was = 1; was != 0 && k < 1000; k++) {
        close_peer(&at);
        open_peer(&at);
        ANSWERS(&at, "flush_all\r\nset n 0 0 1\r\n5\r\n", "OK\r\nSTORED\r\n");
        free(at.out.text);
        at.out = (struct reply){.file = -1};
        atomic_store(&failed, 0);
        atomic_store(&fails_in, k);
        says(&at, talk);
        atomic_store(&fails_in, -1);
        was = atomic_load(&failed);
        add(&at.got, "", 1);
        for (int i = 0; i < 3; i++)
            seen[i] = seen[i] || strstr(at.got.at, texts[i]) != NULL;
        ended = ended || at.closed;
        CHECK(was == 0 || at.closed || strstr(at.got.at, "SERVER_ERROR out of memory") != NULL);
        at.got.size = 0;
        if (!at.closed)
            ANSWERS(&at, "set d 0 0 1\r\nx\r\nget d\r\n", "STORED\r\nVALUE d 0 1\r\nx\r\nEND\r\n");
    }
    CHECK(seen[0] && seen[1] && ended);
    set(&at, "large", 0, 100000);
    CHECK(at.closed || answers(&at, "STORED\r\n"));
    free(at.out.text);
    at.out = (struct reply){.file = -1};
    says(&at, "get large none\r\n"); /* there is room for it */
    at.got.size = 0;
    free(at.out.text);
    at.out = (struct reply){.file = -1};
    atomic_store(&fails_in, 0);
    ANSWERS(&at, "get large none\r\nget none\r\n", "SERVER_ERROR out of memory writing get response\r\nEND\r\n");
    atomic_store(&fails_in, -1);
    end();
    CHECK_EQUAL(atomic_load(&blocks), 0);
    atomic_store(&all_fail, true);
    CHECK(kv_new(1 << 22, 1 << 20) == NULL);
    atomic_store(&all_fail, false);
    for (int k = 0, was = 1; was != 0 && k < 100; k++) {
        atomic_store(&failed, 0);
        atomic_store(&fails_in, k);
        struct kv *kv = kv_new(1 << 22, 1 << 20);
        atomic_store(&fails_in, -1);
        was = atomic_load(&failed);
        CHECK_EQUAL(kv == NULL, was != 0);
        if (kv != NULL)
            kv_free(kv);
        CHECK_EQUAL(atomic_load(&blocks), 0);
    }
}

/* To the second. */
static void test_seconds(void)
{
    begin(64, 1048576);
    ANSWERS(&at, "set a 0 10 1\r\nx\r\nset b 0 0 1\r\nx\r\nset c 0 2592000 1\r\nx\r\nflush_all 30\r\n",
            "STORED\r\nSTORED\r\nSTORED\r\nOK\r\n");
    atomic_fetch_add(&second, 9);
    ANSWERS(&at, "get a b\r\n", "VALUE a 0 1\r\nx\r\nVALUE b 0 1\r\nx\r\nEND\r\n");
    atomic_fetch_add(&second, 1);
    ANSWERS(&at, "get a b\r\n", "VALUE b 0 1\r\nx\r\nEND\r\n");
    atomic_fetch_add(&second, 19);
    ANSWERS(&at, "get b\r\nset a 0 0 1\r\ny\r\n", "VALUE b 0 1\r\nx\r\nEND\r\nSTORED\r\n");
    atomic_fetch_add(&second, 1);
    ANSWERS(&at, "set b 0 0 1\r\nz\r\nget a b c\r\n", "STORED\r\nVALUE b 0 1\r\nz\r\nEND\r\n");
    ANSWERS(&at, "flush_all 30\r\nflush_all 60\r\n", "OK\r\nOK\r\n");
    atomic_fetch_add(&second, 59);
    ANSWERS(&at, "get b\r\n", "VALUE b 0 1\r\nz\r\nEND\r\n");
    atomic_fetch_add(&second, 1);
    ANSWERS(&at, "get b\r\nset c 0 2592000 1\r\nx\r\n", "END\r\nSTORED\r\n");
    atomic_fetch_add(&second, 2591999);
    ANSWERS(&at, "get c\r\n", "VALUE c 0 1\r\nx\r\nEND\r\n");
    atomic_fetch_add(&second, 1);
    ANSWERS(&at, "get c\r\n", "END\r\n");
    end();
}

/* By the day's time, as of more than a month: before this server began, which flushes nothing and ends what was to come; shortly
 * before, or just now, which is at once; and to come. As memcached does. */
static void test_flush_by_date(void)
{
    char line[64];
    long day = (long)today();
    begin(64, 1048576);
    const struct {
        long at;
        bool flushes, later;
    } dates[] = {{2592001, false, false},   {1000000000, false, false}, {day - 3600, false, false},
                 {day - 30, true, false},   {day, true, false},         {day + 100, false, true},
                 {2147483647, false, false}};
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        ANSWERS(&at, "flush_all\r\nset a 0 0 1\r\nx\r\nflush_all 50\r\n", "OK\r\nSTORED\r\nOK\r\n");
        snprintf(line, sizeof line, "flush_all %ld\r\n", dates[i].at);
        ANSWERS(&at, line, "OK\r\n");
        ANSWERS(&at, "get a\r\n", dates[i].flushes ? "END\r\n" : "VALUE a 0 1\r\nx\r\nEND\r\n");
        atomic_fetch_add(&second, 60);
        ANSWERS(&at, "get a\r\n", dates[i].flushes ? "END\r\n" : "VALUE a 0 1\r\nx\r\nEND\r\n");
        atomic_fetch_add(&second, 1000);
        ANSWERS(&at, "get a\r\n", dates[i].flushes || dates[i].later ? "END\r\n" : "VALUE a 0 1\r\nx\r\nEND\r\n");
        atomic_fetch_sub(&second, 1060);
    }
    end();
}

static void test_stats(void)
{
    static const char *const wanted[] = {"cmd_get 4",
                                         "cmd_set 3",
                                         "get_hits 3",
                                         "get_misses 1",
                                         "delete_hits 1",
                                         "cas_badval 1",
                                         "delete_misses 1",
                                         "incr_hits 1",
                                         "decr_misses 1",
                                         "touch_misses 1",
                                         "touch_hits 1",
                                         "cmd_touch 2",
                                         "curr_items 1",
                                         "total_items 2",
                                         "cmd_flush 0",
                                         "evictions 0",
                                         "limit_maxbytes 67108864",
                                         "curr_connections 1"};
    char line[80];
    begin(64, 1048576);
    ANSWERS(&at, "stats reset\r\n", "RESET\r\n");
    says(&at, "set a 0 0 1\r\n1\r\nset b 0 0 1\r\n1\r\nget a b c\r\ndelete b\r\ndelete b\r\ncas a 0 0 1 "
              "77\r\nx\r\nincr a 1\r\n"
              "decr c 1\r\ntouch c 1\r\ngat 1000 a\r\n");
    at.got.size = 0;
    says(&at, "stats\r\n");
    add(&at.got, "", 1);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        snprintf(line, sizeof line, "STAT %s\r\n", wanted[i]);
        if (!CHECK(strstr(at.got.at, line) != NULL))
            harness_note("%s", line);
    }
    CHECK(strcmp(at.got.at + strlen(at.got.at) - 5, "END\r\n") == 0);
    at.got.size = 0;
    says(&at, "stats reset\r\nstats\r\n");
    add(&at.got, "", 1);
    CHECK(strstr(at.got.at, "STAT cmd_get 0\r\n") != NULL && strstr(at.got.at, "STAT curr_items 1\r\n") != NULL);
    at.got.size = 0;
    end();
}

/* ---- several threads ---- */

enum { THREADS = 4, TURNS = 3000 };

static void *works(void *arg)
{
    struct peer p;
    uint64_t state = harness_seed() + (uintptr_t)arg;
    char text[200];
    open_peer(&p);
    for (int i = 0; i < TURNS; i++) {
        unsigned k = (unsigned)(harness_random(&state) % 20);
        switch (harness_random(&state) % 6) {
        case 0:
            snprintf(text, sizeof text, "set k%u %u 0 10\r\nvalue %04u\r\n", k, k, k);
            break;
        case 1:
            snprintf(text, sizeof text, "delete k%u\r\n", k);
            break;
        case 2:
            snprintf(text, sizeof text, "gets k%u k%u\r\n", k, (k + 1) % 20);
            break;
        default:
            snprintf(text, sizeof text, "incr sum 1 noreply\r\n");
        }
        says(&p, text);
        add(&p.got, "", 1);
        for (char *v = p.got.at; (v = strstr(v, "VALUE k")) != NULL; v++) { /* a value belongs to its key */
            unsigned key = 0, flags = 0, n = 0, unique = 0, value = 0;
            CHECK_EQUAL(sscanf(v, "VALUE k%u %u %u %u\r\nvalue %u", &key, &flags, &n, &unique, &value), 5);
            CHECK(key == flags && key == value && n == 10);
        }
        p.got.size = 0;
    }
    says(&p, "incr sum 1\r\n");
    CHECK(p.got.size > 2);
    close_peer(&p);
    return NULL;
}

static void test_threads(void)
{
    pthread_t t[THREADS];
    uint64_t sum = THREADS;
    char wanted[64];
    begin(64, 1048576);
    ANSWERS(&at, "set sum 0 0 20\r\n00000000000000000000\r\n", "STORED\r\n");
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, works, (void *)i);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    for (uintptr_t i = 0; i < THREADS; i++) { /* the same choices once more */
        uint64_t state = harness_seed() + i;
        for (int k = 0; k < TURNS; k++) {
            harness_random(&state);
            sum += harness_random(&state) % 6 > 2;
        }
    }
    snprintf(wanted, sizeof wanted, "%llu\r\n", (unsigned long long)sum);
    ANSWERS(&at, "incr sum 0\r\n", wanted);
    end();
    CHECK_EQUAL(atomic_load(&blocks), 0);
}

int main(void)
{
    static const struct test tests[] = {
        {"the largest item", test_item},
        {"long lines", test_lines},
        {"answers do not pile up", test_piles},
        {"who was not used for longest goes", test_least_recent},
        {"what grows is not evicted for it", test_grows},
        {"memory holds", test_holds},
        {"what is on its way counts", test_on_its_way},
        {"no memory", test_no_memory},
        {"to the second", test_seconds},
        {"a flush by date", test_flush_by_date},
        {"stats", test_stats},
        {"threads", test_threads},
    };
    return HARNESS_RUN("kvcache", tests);
}
