/* SPDX-License-Identifier: MIT
 *
 * How much a stack holds: the C library's greediest functions fit, what was used can be asked, and when there is no
 * memory for more stacks that is said once while the others run on. A crowd of parked fibres is as small as promised, and
 * each has its guard.
 */
#include "harness.h"

#include <errno.h>
#include <netdb.h>
#include <regex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the C library, and how much it used ---- */

static void *greedy(void *arg)
{
    char text[1000];
    regex_t r;
    struct addrinfo *found = NULL;
    snprintf(text, sizeof text, "%f %.300Lf", 1e300, 1e300L); /* the first digits of many */
    CHECK(strncmp(text, "1000000000000000052504760255204420248704468581108", 49) == 0);
    CHECK_EQUAL(regcomp(&r, "^(([a-z]+)*(x|y|z){1,20})+[[:alpha:]]*$", REG_EXTENDED), 0);
    CHECK_EQUAL(regexec(&r, "abcxyzabcxyzabcxyzz", 0, NULL, 0), 0);
    regfree(&r);
    (void)getaddrinfo("localhost", "80", NULL, &found); /* whether it finds it is not our concern */
    if (found != NULL)
        freeaddrinfo(found);
    return arg;
}

static __attribute__((noinline)) int use(size_t bytes)
{
    volatile char room[bytes];
    for (size_t i = 0; i < bytes; i++)
        room[i] = 1;
    return room[bytes / 2];
}

static void *measured(void *arg)
{
    tn_fibre *self = tn_fibre_self();
    size_t before = tn_stack_used(self), size = tn_stack_size(self);
    CHECK(before > 0 && before < 4096);
    use(20000);
    size_t after = tn_stack_used(self);
    CHECK(after >= 20000 && after < 24000 && after <= size);
    use(10000);
    CHECK_EQUAL(tn_stack_used(self), after); /* a mark, not a level */
    return arg;
}

static bool measurable(void)
{
    return build_has("stacks=pooled") || build_has("stacks=mmap");
}

static void run_one(void *(*fn)(void *), size_t least_peak)
{
    struct tn_config c = with(1, "fifo");
    tn_runtime *rt;
    tn_fibre *f;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, fn, NULL), 0);
    CHECK_EQUAL(tn_join(f, NULL), 0);
    size_t peak = tn_stack_peak(rt);
    if (measurable())
        CHECK(peak >= least_peak && peak <= 65536);
    if (!measurable())
        CHECK_EQUAL(peak, 0);
    CHECK_EQUAL(tn_stop(rt), 0);
    harness_note("%zu bytes ", peak);
}

static void test_library(void)
{
    run_one(greedy, 2000);
}

static void test_used(void)
{
    if (build_has("sanitize=address") || !measurable())
        SKIP("locals are elsewhere, or nothing can be told");
    run_one(measured, 20000);
}

/* ---- until there is no more ---- */

static atomic_bool go;
static atomic_uint ran;

static void *parked(void *arg)
{
    while (!atomic_load(&go))
        tn_sleep(20000000);
    atomic_fetch_add(&ran, 1);
    return arg;
}

static void *until_failure(void *arg)
{
    enum { MOST = 200000 };
    static tn_fibre *f[MOST];
    unsigned n = 0, refused = 0;
    int rc = 0;
    while (n < MOST && (rc = tn_spawn(&f[n], NULL, parked, NULL)) == 0)
        n++;
    for (int i = 0; i < 3; i++)
        refused += tn_spawn(NULL, NULL, parked, NULL) == ENOMEM;
    atomic_store(&go, true);
    for (unsigned i = 0; i < n; i++)
        tn_join(f[i], NULL);
    bool again = tn_spawn(&f[0], NULL, parked, NULL) == 0 && tn_join(f[0], NULL) == 0;
    *(bool *)arg = rc == ENOMEM && refused == 3 && n > 1000 && again && atomic_load(&ran) == n + 1;
    if (!*(bool *)arg)
        fprintf(stderr, "%u, rc %d, %u refused, %u ran\n", n, rc, refused, atomic_load(&ran));
    return NULL;
}

/* Anew, since how guards are made has been found out by now. */
static int until_failure_child(void *arg)
{
    setenv("TENTER_GUARDS", "mprotect", 1);
    (void)arg;
    alarm(0); /* what would come of it is gone with this program */
    execl("/proc/self/exe", "test_room", "--until-failure", (char *)NULL);
    return 2;
}

static int until_failure_itself(void)
{
    struct tn_config c = with(1, "fifo");
    bool good = false;
    c.stack = 16384;
    return tn_run(&c, until_failure, &good, NULL) == 0 && good ? 0 : 1;
}

static void test_until_failure(void)
{
    char err[1024];
    FILE *limit = fopen("/proc/sys/vm/max_map_count", "r");
    long most = 0;
    if (limit == NULL || fscanf(limit, "%ld", &most) != 1 || most > 200000)
        most = 0;
    if (limit != NULL)
        fclose(limit);
    if (most == 0 || !measurable() || !build_has("sanitize=none"))
        SKIP("made for guards and for the usual limit of mappings");
    CHECK(exited(harness_child(until_failure_child, NULL, err, sizeof err), 0));
    char *said = strstr(err, "no guard pages for more stacks");
    CHECK(said != NULL && strstr(err, "vm.max_map_count") != NULL && strstr(said + 1, "no guard pages") == NULL);
    if (said == NULL)
        harness_note("%s", err);
}

/* ---- a crowd ---- */

enum { CROWD = 20000, PROBES = 1000 };
static tn_fibre *crowd[CROWD];

static size_t status_of(const char *key)
{
    char line[256];
    size_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtoul(line + strlen(key), NULL, 10);
    if (f != NULL)
        fclose(f);
    return kib * 1024;
}

static tn_waiter waiters[CROWD];
static atomic_uint waiting;

static void publish(tn_waiter w, void *arg)
{
    *(tn_waiter *)arg = w;
    atomic_fetch_add(&waiting, 1);
}

static void *waits(void *arg)
{
    tn_suspend(publish, arg, TN_FOREVER, NULL);
    return arg;
}

/* The kernel's copy fails where an access would kill. */
static bool readable(int fd, const char *at)
{
    return write(fd, at, 1) == 1;
}

static void *crowd_main(void *arg)
{
    int fd[2];
    uint64_t seed = harness_seed();
    unsigned guards = 0, open = 0;
    CHECK_EQUAL(pipe(fd), 0);
    atomic_store(&waiting, 0);
    memset(crowd, 0, sizeof crowd);
    size_t before = status_of("RssAnon:");
    for (int i = 0; i < CROWD; i++)
        if (!CHECK_EQUAL(tn_spawn(&crowd[i], NULL, waits, &waiters[i]), 0))
            return arg;
    while (atomic_load(&waiting) < CROWD)
        tn_yield();
    for (int i = 0; i < 8; i++)
        tn_yield();
    size_t each = (status_of("RssAnon:") - before) / CROWD;
    harness_note("%zu bytes resident a parked fibre ", each);
    if (build_has("stacks=pooled")) /* of which a ucontext alone takes a quarter of a page */
        CHECK(each <= (build_has("\"context\":\"ucontext\"") ? 6144 : 4096 + 64));
    for (int i = 0; i < PROBES; i++) {
        tn_fibre *f = crowd[harness_random(&seed) % CROWD];
        char *low = (char *)f - tn_stack_size(f), byte; /* a pooled stack ends at its fibre */
        guards += !readable(fd[1], low - 1) && !readable(fd[1], low - sysconf(_SC_PAGESIZE));
        open += readable(fd[1], (char *)f - 256) && read(fd[0], &byte, 1) == 1;
    }
    CHECK_EQUAL(guards, PROBES);
    CHECK_EQUAL(open, PROBES);
    for (int i = 0; i < CROWD; i++)
        tn_wake(waiters[i]);
    for (int i = 0; i < CROWD; i++)
        CHECK_EQUAL(tn_join(crowd[i], NULL), 0);
    close(fd[0]);
    close(fd[1]);
    return arg;
}

static void test_crowd(void)
{
    struct tn_config c = with(1, "fifo");
    if (!build_has("stacks=pooled") || !build_has("sanitize=none") || !build_has("buildtype=release"))
        SKIP("made for pooled stacks and a plain build");
    CHECK_EQUAL(tn_run(&c, crowd_main, NULL, NULL), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--until-failure") == 0)
        return until_failure_itself();
    static const struct test tests[] = {
        {"the C library fits", test_library},
        {"how much was used", test_used},
        {"until there is no more", test_until_failure},
        {"a crowd, and its guards", test_crowd},
    };
    return HARNESS_RUN("room", tests);
}
