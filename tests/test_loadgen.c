/* SPDX-License-Identifier: MIT
 *
 * The generator's chance, held against the means and shares of its distributions; and its answers, cut anywhere.
 */
#include "harness.h"

#include "loadgen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct load load;

int connection_open(int number, bool waits)
{
    (void)waits;
    return number - number - 1; /* nothing is loaded here */
}

bool server_lost(struct bench *b, double seconds)
{
    (void)b, (void)seconds;
    return false; /* nor started */
}

static bool near(double got, double wanted, double part)
{
    bool is = fabs(got / wanted - 1) <= part;
    if (!is)
        harness_note("%g, not %g", got, wanted);
    return is;
}

static void test_gaps(void)
{
    enum { N = 400000 };
    static const double spread[] = {1, 1 / (1 - 2 * 0.154971), 0}; /* variance over the square of the mean */
    for (load.arrivals = 0; load.arrivals < 3; load.arrivals++) {
        uint64_t seed = harness_seed();
        double sum = 0, squares = 0;
        for (int i = 0; i < N; i++) {
            double gap = chance_gap(&seed, 5000);
            CHECK(gap >= 0);
            sum += gap / N;
            squares += gap * gap / N;
        }
        CHECK(near(sum, 5000, 0.02));
        CHECK(fabs((squares - sum * sum) / (sum * sum) - spread[load.arrivals]) < 0.12);
    }
}

static void test_skew(void)
{
    enum { N = 100, DRAWS = 200000 };
    uint64_t seed = harness_seed();
    unsigned alike[N] = {0}, skewed[N] = {0};
    double *weights = chance_skew(N, 1), all = 0;
    CHECK(chance_skew(N, 0) == NULL);
    for (int i = 0; i < DRAWS; i++) {
        alike[chance_pick(&seed, NULL, N)]++;
        skewed[chance_pick(&seed, weights, N)]++;
    }
    for (int i = 0; i < N; i++)
        all += 1.0 / (i + 1);
    CHECK(near(alike[0], DRAWS / N, 0.15) && near(alike[N - 1], DRAWS / N, 0.15));
    CHECK(near(skewed[0], DRAWS / all, 0.05) && near(skewed[9], DRAWS / all / 10, 0.1));
    CHECK(near(skewed[N - 1], DRAWS / all / N, 0.25));
    free(weights);
}

static void test_sizes(void)
{
    enum { N = 100000 };
    double keys = 0, values = 0;
    uint32_t key, value, again;
    load = (struct load){.key_size = 20, .value_size = 7};
    chance_sizes(3, &key, &value);
    CHECK_EQUAL(key, 20);
    CHECK_EQUAL(value, 7);
    load.etc = true;
    for (uint64_t i = 0; i < N; i++) {
        chance_sizes(i, &key, &value);
        CHECK(key >= 16 && key <= 250 && value >= 1 && value <= 1000000);
        keys += (double)key / N;
        values += (double)value / N;
        chance_sizes(i, &again, &again);
        CHECK_EQUAL(again, value);
    }
    CHECK(near(keys, 36.3, 0.05));   /* 30.8 + 8.2 (gamma(1 - 0.079) - 1) / 0.079, a little more for the least */
    CHECK(near(values, 328.6, 0.1)); /* 214.476 / (1 - 0.348238), rounded down */
}

/* The answer with something after it: recognised when it is there, and not before. */
static void recognised(const struct request *r, const char *text, int result, size_t taken, size_t skip)
{
    size_t got = 0, left = 0;
    for (size_t n = 0; n < taken; n++)
        CHECK_EQUAL(text_answer(r, text, n, &got, &left), ANSWER_MORE);
    for (size_t n = taken; n <= strlen(text); n++) {
        CHECK_EQUAL(text_answer(r, text, n, &got, &left), result);
        CHECK_EQUAL(got, taken);
        CHECK_EQUAL(left, skip);
    }
}

/* From so many bytes on, and why. */
static void is_nonsense(const struct request *r, const char *text, size_t from, const char *why)
{
    char said[200];
    size_t taken, skip;
    for (size_t n = 0; r != NULL && n <= strlen(text); n++)
        CHECK_EQUAL(text_answer(r, text, n, &taken, &skip), n < from ? ANSWER_MORE : ANSWER_NONSENSE);
    text_nonsense(said, sizeof said, r, text, strlen(text));
    if (!CHECK(strstr(said, why) != NULL))
        harness_note("%s", said);
}

static void test_http(void)
{
    struct request r = {0};
    struct buffer out = {NULL, 0, 0};
    load = (struct load){.path = "/a", .host = "127.0.0.1"};
    recognised(&r, "HTTP/1.1 200 OK\r\nA: b\r\ncontent-length: 12\r\nC: d\r\n\r\nHello", ANSWER_GOOD, 51, 12);
    recognised(&r, "HTTP/1.1 503 No\r\nContent-Length:0\r\n\r\n", ANSWER_BAD, 37, 0);
    is_nonsense(&r, "HTTP/1.1 200 OK\r\nServer: a\r\n\r\n", 30,
                "which does not say its Content-Length: another --path?");
    is_nonsense(&r, "HTTP/2\177 some more\r\n\r\n", 6,
                "received \"HTTP/2. some more\", which is no answer of HTTP: wrong --protocol?");
    text_ask(&out, &r, false);
    text_ask(&out, &r, true);
    static const char wanted[] = "GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
                                 "GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    CHECK(out.size == sizeof wanted - 1 && memcmp(out.text, wanted, out.size) == 0);
    free(out.text);
}

static void test_memcached(void)
{
    size_t taken, skip;
    struct request get = {.key = 42}, set = {.key = 42, .write = true};
    struct buffer out = {NULL, 0, 0};
    load = (struct load){.memcached = true, .key_size = 18, .value_size = 20};
    text_ask(&out, &get, false);
    text_ask(&out, &set, true);
    static const char wanted[] = "get 000000000000000042\r\n"
                                 "set 000000000000000042 0 0 20\r\n0000000000000042....\r\n";
    CHECK(out.size == sizeof wanted - 1 && memcmp(out.text, wanted, out.size) == 0);
    free(out.text);
    recognised(&set, "STORED\r\nEND", ANSWER_GOOD, 8, 0);
    recognised(&set, "SERVER_ERROR out of memory\r\n", ANSWER_BAD, 28, 0);
    recognised(&get, "END\r\nEND\r\n", ANSWER_MISS, 5, 0);
    recognised(&get, "ERROR Too many open connections\r\n", ANSWER_BAD, 33, 0);
    recognised(&get, "VALUE 000000000000000042 0 20\r\n0000000000000042....\r\nEND\r\n", ANSWER_GOOD, 31 + 16, 4 + 7);
    static const char another[] = "VALUE 000000000000000043 0 20\r\n0000000000000043....\r\nEND\r\n",
                      content[] = "VALUE 000000000000000042 0 20\r\n0000000000000043....\r\nEND\r\n";
    CHECK_EQUAL(text_answer(&get, another, sizeof another - 1, &taken, &skip), ANSWER_NONSENSE);
    CHECK_EQUAL(text_answer(&get, content, sizeof content - 1, &taken, &skip), ANSWER_NONSENSE);
    is_nonsense(&get, "ERROR\r\n", 6, "\"ERROR\", which is no answer of memcached's: wrong --protocol?");
    is_nonsense(&set, "HTTP/1.1 400 Bad Request\r\n", 1, "\"HTTP/1.1 400 Bad Request\", which is no answer of memc");
    is_nonsense(&get, another, 31, "\"VALUE 000000000000000043 0 20\", which is not what was stored");
    is_nonsense(NULL, "END\r\n", 6, "\"END\", for which nobody asked");
}

static void test_wrk(void)
{
    static const char said[] = "Running 1s test @ http://127.0.0.1:8080/plaintext\n"
                               "  1 threads and 64 connections\n"
                               "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n"
                               "    Latency     1.20ms  301.11us   9.98ms   91.50%\n"
                               "    Req/Sec    52.94k     2.11k   55.83k    80.90%\n"
                               "  Latency Distribution\n"
                               "     50%  950.00us\n"
                               "     75%    1.28ms\n"
                               "     90%    1.41ms\n"
                               "     99%    2.31s \n"
                               "  52721 requests in 1.00s, 5.03MB read\n";
    static const char more[] = "  Socket errors: connect 1, read 2, write 4, timeout 8\n"
                               "  Non-2xx or 3xx responses: 16\n";
    static const char last[] = "Requests/sec:  52665.33\nTransfer/sec:      5.02MB\n";
    char text[1024];
    struct wrk_seen seen;
    for (int bad = 0; bad < 2; bad++) {
        snprintf(text, sizeof text, "%s%s%s", said, bad ? more : "", last);
        CHECK(wrk_said(text, &seen));
        CHECK(near(seen.requests, 52721, 1e-9) && near(seen.throughput, 52665.33, 1e-9));
        CHECK(near(seen.mean, 1.2e6, 1e-9) && near(seen.median, 950e3, 1e-9) && near(seen.p90, 1.41e6, 1e-9) &&
              near(seen.p99, 2.31e9, 1e-9));
        CHECK_EQUAL(seen.errors, bad ? 1 + 2 + 4 + 16 : 0);
        CHECK_EQUAL(seen.timeouts, bad ? 8 : 0);
    }
    CHECK(!wrk_said("unable to connect to 127.0.0.1:8080 Connection refused\n", &seen));
    CHECK(!wrk_said("", &seen));
}

int main(void)
{
    static const struct test all[] = {{"gaps", test_gaps},
                                      {"skew", test_skew},
                                      {"sizes", test_sizes},
                                      {"answers of HTTP", test_http},
                                      {"answers of memcached", test_memcached},
                                      {"what wrk says", test_wrk}};
    return HARNESS_RUN("loadgen", all);
}
