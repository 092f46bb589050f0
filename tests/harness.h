/* SPDX-License-Identifier: MIT
 *
 * What all suites share: running a table of tests with CUnit, checks that any thread or fibre may make, a
 * watchdog that turns a hang into a failure with a message and a seed, child processes whose end is part of a
 * test.
 *
 *     TENTER_TEST_SEED=n      the seed of every random choice of a suite; printed when something fails
 *     TENTER_TEST_ONLY=text   run only the tests whose name contains the text
 *     TENTER_TEST_WATCHDOG=s  seconds until a test counts as hanging; 0: never (for a debugger)
 */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tenter.h"

struct test {
    const char *name;
    void (*fn)(void);
};

/* Run the table, print "N passed, N failed", return main's exit code. */
int harness_run(const char *suite, const struct test *tests, size_t n);
#define HARNESS_RUN(suite, tests) harness_run(suite, tests, sizeof(tests) / sizeof(tests)[0])

/* A check that any thread or fibre may make; the test goes on after a failed one. */
#define CHECK(condition) harness_check((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(got, wanted) \
    harness_check_equal((long long)(got), (long long)(wanted), #got " == " #wanted, __FILE__, __LINE__)
bool harness_check(bool good, const char *text, const char *file, unsigned line);
bool harness_check_equal(long long got, long long wanted, const char *text, const char *file, unsigned line);

/* A message with the test's result, for what a check cannot say. */
void harness_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A test that does not apply to this build. */
#define SKIP(why)                         \
    do {                                  \
        harness_note("skipped: %s", why); \
        return;                           \
    } while (0)

/* Seeded, one stream a caller. */
uint64_t harness_seed(void);
uint64_t harness_random(uint64_t *state);

/* Of a test of many rounds, each with its own seed: true while all has gone well. Then a replay begins with this round, and
 * the watchdog anew. */
bool harness_round(uint64_t seed);

/* Seconds of the watchdog for the test that runs, and for each test of the suite: 60 if nothing is said. */
void harness_watchdog(unsigned seconds);
void harness_patience(unsigned seconds);

/* A child process that calls fn(arg) and exits with what it returns. Its standard error is captured. Returns
 * the wait status. Call it while no runtime runs. */
int harness_child(int (*fn)(void *), void *arg, char *err, size_t size);
/* One that does not end by itself: by SIGTERM, when it has said `text` and a second more has gone by. */
int harness_child_until(const char *text, int (*fn)(void *), void *arg, char *err, size_t size);
bool exited(int status, int code);
bool killed(int status, int signal);

/* Entries in a directory of /proc/self: "task" counts threads that have not ended, "fd" descriptors. */
unsigned harness_count(const char *directory);

/* Does that thread of this process sleep in the kernel? False too where there is none. */
bool harness_sleeps(pid_t thread);

/* The value of a counter by name; UINT64_MAX: there is none. */
uint64_t counter(const tn_cluster *cluster, const char *name);

/* What tn_describe says of this build: does it contain the text? */
bool build_has(const char *text);
/* Does a sanitizer build force every fibre through the shared queue? Does the runtime count? */
bool migration_forced(void);
bool counting(void);
/* The threads that a runtime of one cluster has beside its workers: one of the pollers `thread` and `fibre`. */
unsigned poller_threads(void);

/* errno by calls that no compiler keeps an address over. */
int errno_get(void);
void errno_set(int value);

/* Sleep, on a plain thread. */
void nap_us(unsigned us);

/* On a plain thread: wait until `condition`, at most about ten seconds. True if it came about. */
#define EVENTUALLY(condition)                   \
    __extension__({                             \
        unsigned naps_ = 0;                     \
        while (!(condition) && naps_++ < 20000) \
            nap_us(500);                        \
        (condition);                            \
    })

/* A configuration with so many workers and such a scheduler (NULL: the default). */
struct tn_config with(int64_t workers, const char *scheduler);

#endif
