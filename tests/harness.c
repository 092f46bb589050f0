/* SPDX-License-Identifier: MIT */
#include "harness.h"

#include <CUnit/Basic.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef TENTER_SIMULATED /* a watchdog by the host's time, and children, which are simulations of their own */
__asm__("# not simulated: alarm fork waitpid");
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *suite_name;
static uint64_t seed;
static unsigned watchdog_seconds = 60;
static bool all_good = true; /* under the lock */

/* ---- the watchdog ---- */

static char hang_message[256];
static unsigned hang_seconds;
static double cpu_at_begin, cpu_last; /* of the test, of the last look */
static bool slept;                    /* at the last look */

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The time is up. On a busy machine that says little, so what counts is the processor time that the test has had: next to
 * none at two looks in a row, then it sleeps (at one only, somebody had stopped the process); as much as the time on two
 * processors, then it runs in circles. */
static void hang(int number)
{
    (void)number;
    double cpu = cpu_now();
    bool sleeps = cpu - cpu_last<0.005 * hang_seconds, circles = cpu - cpu_at_begin> 2.0 * hang_seconds;
    bool hangs = (sleeps && slept) || circles;
    cpu_last = cpu;
    slept = sleeps;
    if (!hangs) {
        alarm(hang_seconds);
        return;
    }
    (void)!write(STDERR_FILENO, hang_message, strlen(hang_message));
    sigset_t again;
    sigemptyset(&again);
    sigaddset(&again, SIGALRM);
    signal(SIGALRM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &again, NULL);
    alarm(20); /* where the dump hangs too */
    tn_dump(STDERR_FILENO);
    _exit(1);
}

void harness_watchdog(unsigned seconds)
{
    const char *given = getenv("TENTER_TEST_WATCHDOG");
    if (given != NULL)
        seconds = (unsigned)strtoul(given, NULL, 0);
    CU_pTest test = CU_get_current_test();
    snprintf(hang_message, sizeof hang_message,
             "\n%s: '%s' hangs: %u s, and it sleeps or runs in circles. Replay: TENTER_TEST_SEED=%" PRIu64
             " TENTER_TEST_ONLY='%s'\n",
             suite_name, test != NULL ? test->pName : "?", seconds, seed, test != NULL ? test->pName : "");
    hang_seconds = seconds;
    cpu_at_begin = cpu_last = cpu_now();
    slept = false;
    signal(SIGALRM, hang);
    alarm(seconds);
}

void harness_patience(unsigned seconds)
{
    watchdog_seconds = seconds;
}

/* A sanitizer makes everything slower. */
static unsigned patience(void)
{
    return watchdog_seconds * (build_has("sanitize=none") ? 1 : 4);
}

static void before_each(void)
{
    harness_watchdog(patience());
}

/* ---- checks ---- */

/* For whoever uses the lock: a fibre that is preempted with it would leave it to a worker that waits for it. */
static bool take(void)
{
    bool masked = tn_preempt_mask(true);
    pthread_mutex_lock(&lock);
    return masked;
}

static void let_go(bool masked)
{
    pthread_mutex_unlock(&lock);
    tn_preempt_mask(masked);
}

bool harness_check(bool good, const char *text, const char *file, unsigned line)
{
    bool masked = take();
    CU_assertImplementation(good, line, text, file, "", CU_FALSE);
    all_good = all_good && good;
    let_go(masked);
    return good;
}

bool harness_check_equal(long long got, long long wanted, const char *text, const char *file, unsigned line)
{
    if (got != wanted)
        harness_note("%s: %lld, not %lld (line %u)", text, got, wanted, line);
    return harness_check(got == wanted, text, file, line);
}

void harness_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bool masked = take();
    fputs("\n    ", stdout);
    vprintf(format, args);
    fflush(stdout);
    let_go(masked);
    va_end(args);
}

/* ---- running ---- */

int harness_run(const char *suite, const struct test *tests, size_t n)
{
    const char *given = getenv("TENTER_TEST_SEED"), *only = getenv("TENTER_TEST_ONLY");
    suite_name = suite;
    seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 99;
    CU_pSuite s = CU_add_suite_with_setup_and_teardown(suite, NULL, NULL, before_each, NULL);
    if (s == NULL)
        return 99;
    for (size_t i = 0; i < n; i++)
        if ((only == NULL || strstr(tests[i].name, only) != NULL) &&
            CU_add_test(s, tests[i].name, tests[i].fn) == NULL)
            return 99;
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    alarm(0);
    unsigned failed = CU_get_number_of_tests_failed(), run = CU_get_number_of_tests_run();
    CU_cleanup_registry();
    if (failed != 0)
        printf("replay: TENTER_TEST_SEED=%" PRIu64 "\n", seed);
    printf("%u passed, %u failed\n", run - failed, failed);
    return failed != 0;
}

uint64_t harness_seed(void)
{
    return seed;
}

bool harness_round(uint64_t of_round)
{
    bool masked = take();
    bool go_on = all_good;
    let_go(masked);
    if (go_on) {
        seed = of_round;
        harness_watchdog(patience());
    }
    return go_on;
}

uint64_t harness_random(uint64_t *state) /* SplitMix64 */
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- children ---- */

/* `until`: when it has said that, it has a second more, and is ended. */
static int run_child(int (*fn)(void *), void *arg, char *err, size_t size, const char *until)
{
    int pipe_fd[2], status = -1;
    size_t length = 0;
    if (pipe(pipe_fd) != 0)
        return -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(pipe_fd[0]);
        dup2(pipe_fd[1], STDERR_FILENO);
        close(pipe_fd[1]);
        harness_watchdog(patience() / 2);
        _exit(fn(arg));
    }
    close(pipe_fd[1]);
    alarm(0); /* the child has a watchdog of its own, which sees whether it works; from here it would seem to sleep */
    for (;;) {
        char piece[4096];
        ssize_t got = read(pipe_fd[0], piece, sizeof piece);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        for (ssize_t i = 0; i < got; i++)
            if (length + 1 < size)
                err[length++] = piece[i];
        if (until == NULL)
            continue;
        err[length] = '\0';
        if (strstr(err, until) != NULL) {
            until = NULL;
            nap_us(1000000);
            kill(child, SIGTERM);
        }
    }
    close(pipe_fd[0]);
    if (size != 0)
        err[length] = '\0';
    if (child > 0)
        waitpid(child, &status, 0);
    alarm(hang_seconds);
    return status;
}

int harness_child(int (*fn)(void *), void *arg, char *err, size_t size)
{
    return run_child(fn, arg, err, size, NULL);
}

int harness_child_until(const char *text, int (*fn)(void *), void *arg, char *err, size_t size)
{
    return run_child(fn, arg, err, size, text);
}

bool exited(int status, int code)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

bool killed(int status, int signal)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

/* ---- looking around ---- */

/* A thread that has been joined is still listed for a moment. The kernel marks it before it lets the joiner go on. */
static bool has_ended(const char *thread)
{
    enum { PF_EXITING = 4 }; /* in the ninth field of its stat; the second, in parentheses, may hold anything */
    char path[320], text[512];
    unsigned flags = PF_EXITING;
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", thread);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return true;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *at = strrchr(text, ')');
    return at == NULL || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1 || (flags & PF_EXITING) != 0;
}

unsigned harness_count(const char *directory)
{
    char path[64];
    unsigned n = 0;
    bool threads = strcmp(directory, "task") == 0;
    snprintf(path, sizeof path, "/proc/self/%s", directory);
    DIR *d = opendir(path);
    if (d == NULL)
        return 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.' && !(threads && has_ended(e->d_name));
    closedir(d);
    return n;
}

bool harness_sleeps(pid_t thread)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    FILE *in = fopen(path, "r");
    if (in == NULL)
        return false;
    const char *end = fgets(line, sizeof line, in) != NULL ? strrchr(line, ')') : NULL; /* of its name */
    fclose(in);
    return end != NULL && end[1] == ' ' && end[2] == 'S';
}

uint64_t counter(const tn_cluster *cluster, const char *name)
{
    struct tn_counter all[TN_COUNTERS_MAX];
    size_t n = tn_counters(cluster, all);
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].value;
    return UINT64_MAX;
}

bool build_has(const char *text)
{
    size_t size = tn_describe(NULL, 0) + 1;
    char *all = malloc(size);
    if (all == NULL)
        return false;
    tn_describe(all, size);
    bool has = strstr(all, text) != NULL;
    free(all);
    return has;
}

bool migration_forced(void)
{
    return build_has("\"force_migration\":\"yes\"");
}

bool counting(void)
{
    return build_has("\"observe\":\"counters\"");
}

unsigned poller_threads(void)
{
    return build_has("\"pollers\":[{\"name\":\"thread\"") || build_has("\"pollers\":[{\"name\":\"fibre\"");
}

__attribute__((noinline)) int errno_get(void)
{
    return errno;
}

__attribute__((noinline)) void errno_set(int value)
{
    errno = value;
}

void nap_us(unsigned us)
{
    struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
        ;
}

struct tn_config with(int64_t workers, const char *scheduler)
{
    struct tn_config c = TN_CONFIG_INIT;
    c.workers = workers;
    c.scheduler = scheduler;
    return c;
}
