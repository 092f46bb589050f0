/* SPDX-License-Identifier: MIT
 *
 * --counters of the benchmark programs: with what this machine has, and against a kernel and a likwid of our own that
 * have what it may lack: counters that take turns, refusals, a marker API.
 */
#include "harness.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- a kernel that may be told what to answer ---- */

enum { FAKE_FD = 1000 };
static bool fake;
static int refuse_hardware, refuse_kernel, refuse_all; /* errno values; 0: not */
static uint64_t enabled, running;
static unsigned opened, switched_on, switched_off, user_opens;

static long fake_syscall(long number, ...);
static ssize_t fake_read(int fd, void *buffer, size_t size);
static int fake_ioctl(int fd, unsigned long request, int argument);

#define syscall fake_syscall
#define read    fake_read
#define ioctl   fake_ioctl
#include "../experiments/workloads/bench_counters.c"
#undef syscall
#undef read
#undef ioctl

static long fake_syscall(long number, ...)
{
    va_list args;
    va_start(args, number);
    struct perf_event_attr *attr = va_arg(args, struct perf_event_attr *);
    int pid = va_arg(args, int), cpu = va_arg(args, int), group = va_arg(args, int);
    unsigned long flags = va_arg(args, unsigned long);
    va_end(args);
    if (!fake)
        return syscall(number, attr, pid, cpu, group, flags);
    int no = refuse_all                                        ? refuse_all
             : attr->type == PERF_TYPE_SOFTWARE                ? 0
             : attr->exclude_kernel == 0 && refuse_kernel != 0 ? refuse_kernel
                                                               : refuse_hardware;
    user_opens += attr->exclude_kernel;
    if (no != 0) {
        errno = no;
        return -1;
    }
    CHECK(attr->inherit);
    return FAKE_FD + (int)opened++;
}

static ssize_t fake_read(int fd, void *buffer, size_t size)
{
    uint64_t got[3] = {1000, enabled, running};
    if (!fake)
        return read(fd, buffer, size);
    memcpy(buffer, got, size);
    return (ssize_t)size;
}

static int fake_ioctl(int fd, unsigned long request, int argument)
{
    if (!fake)
        return ioctl(fd, request, argument);
    switched_on += request == PERF_EVENT_IOC_ENABLE;
    switched_off += request == PERF_EVENT_IOC_DISABLE;
    return 0;
}

/* ---- a likwid that notes where it is called ---- */

#define BENCH_LIKWID 1
#include "../experiments/workloads/bench_likwid.c"

static atomic_uint started, stopped, closed;
static atomic_ullong places;
static bool likwid_dies;

void likwid_markerInit(void)
{
    if (likwid_dies)
        abort();
    CHECK(strcmp(getenv("LIKWID_EVENTS"), "L3") == 0);
}
void likwid_markerThreadInit(void)
{
}
int likwid_markerRegisterRegion(const char *name)
{
    return name == NULL;
}
int likwid_markerStartRegion(const char *name)
{
    atomic_fetch_or(&places, 1ull << sched_getcpu());
    atomic_fetch_add(&started, 1);
    return name == NULL;
}
int likwid_markerStopRegion(const char *name)
{
    atomic_fetch_add(&stopped, 1);
    return name == NULL;
}
void likwid_markerGetRegion(const char *name, int *n_events, double *values, double *seconds, int *times)
{
    CHECK(strcmp(name, region) == 0);
    *n_events = 2;
    values[0] = 10;
    values[1] = 0.5;
    *seconds = 1;
    *times = 1;
}
void likwid_markerClose(void)
{
    atomic_fetch_add(&closed, 1);
}
char *perfmon_getEventName(int group, int event)
{
    static char names[2][8] = {"FIRST", "SECOND"};
    CHECK_EQUAL(group, 0);
    return names[event];
}

/* ---- a program ---- */

static double value(const struct bench *b, const char *name)
{
    for (size_t i = 0; i < b->counted; i++)
        if (strcmp(b->counters[i].name, name) == 0)
            return b->counters[i].value;
    return NAN;
}

static const char *missing(const struct bench *b, const char *name)
{
    for (size_t i = 0; i < b->missing_n; i++)
        if (strcmp(b->missing[i].name, name) == 0)
            return b->missing[i].why;
    return NULL;
}

static void *touch(void *arg)
{
    volatile char *page = malloc(64 << 12);
    for (int i = 0; i < 64; i++)
        page[i << 12] = 1;
    free((void *)(uintptr_t)page);
    bench_work_calibrate();
    return arg;
}

/* One invocation with two repetitions after a warm-up. The static state of the library is one process's: children. */
static const char *wanted;
static int (*verify)(struct bench *b);

static int invoke(void *unused)
{
    static struct bench b = {.program = "none", .about = "", .clock = ""};
    char counters[32];
    (void)unused;
    snprintf(counters, sizeof counters, "--counters=%s", wanted);
    bench_start(&b, 4, (char *[]){"none", counters, "--likwid-group=L3", "--reps=2", NULL});
    for (int rep = 0; rep < bench_reps(&b); rep++) {
        pthread_t thread; /* made after the events, as the workers of a runtime are */
        bench_region_start(&b, rep);
        pthread_create(&thread, NULL, touch, NULL);
        pthread_join(thread, NULL);
        bench_region_stop();
    }
    bench_counters_record(&b);
    return verify(&b);
}

static void in_child(const char *counters, int (*check)(struct bench *b))
{
    char err[1024];
    wanted = counters;
    verify = check;
    int status = harness_child(invoke, NULL, err, sizeof err);
    if (!CHECK(exited(status, 0)))
        harness_note("status %x, %s", (unsigned)status, err);
}

#define WANT(condition)                                             \
    do {                                                            \
        if (!(condition)) {                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            return 1;                                               \
        }                                                           \
    } while (0)

/* ---- tests ---- */

static int nothing(struct bench *b)
{
    WANT(b->counted == 0 && b->missing_n == 0);
    return 0;
}

/* What this machine has: software events are real, and what is not there is said to be not there. */
static int real(struct bench *b)
{
    WANT(value(b, "sw_task_clock_ns") > 1e5);
    WANT(value(b, "sw_page_faults") >= 64);
    WANT(value(b, "sw_context_switches") >= 0);
    WANT(value(b, "counted_regions") == 2);
    for (int i = 0; i < EVENTS; i++) {
        const char *why = missing(b, events[i].name);
        WANT(isnan(value(b, events[i].name)) == (why != NULL));
        WANT(why == NULL || why[0] != '\0');
    }
    if (isnan(value(b, "hw_instructions")))
        WANT(isnan(value(b, "hw_share")));
    else
        WANT(value(b, "hw_instructions") > 1e5);
    return 0;
}

static int scaled(struct bench *b)
{
    WANT(value(b, "hw_cycles") == 4000);
    WANT(value(b, "hw_stalled_backend") == 4000);
    WANT(value(b, "hw_share") == 0.25);
    WANT(value(b, "hw_user_only") == 0);
    WANT(value(b, "sw_page_faults") == 1000); /* software events take no turns */
    WANT(opened == EVENTS && switched_on == 2 * GROUPS && switched_off == 2 * GROUPS);
    return 0;
}

static int never(struct bench *b)
{
    WANT(isnan(value(b, "hw_cycles")) && isnan(value(b, "hw_share")));
    WANT(strstr(missing(b, "hw_cycles"), "never had a counter") != NULL);
    WANT(value(b, "sw_page_faults") == 1000);
    return 0;
}

static int without(struct bench *b)
{
    WANT(value(b, "hw_cycles") == 1000 && value(b, "hw_user_only") == 1);
    WANT(user_opens == 6); /* of the hardware, and no software event */
    return 0;
}

static int none_there(struct bench *b)
{
    WANT(missing(b, "hw_cycles") != NULL && missing(b, "hw_stalled_frontend") != NULL);
    WANT(value(b, "sw_page_faults") == 1000);
    return 0;
}

static int refused(struct bench *b)
{
    WANT(value(b, "sw_task_clock_ns") > 1e5 && value(b, "sw_page_faults") >= 64); /* as getrusage has them */
    WANT(strstr(missing(b, "sw_migrations"), "no perf events") != NULL);
    return 0;
}

static int by_likwid(struct bench *b)
{
    unsigned processors = bench_processors();
    WANT(value(b, "likwid_FIRST") == 10.0 * processors);
    WANT(value(b, "likwid_SECOND") == 0.5 * processors);
    WANT(atomic_load(&started) == 2 * processors && atomic_load(&stopped) == 2 * processors);
    WANT((unsigned)__builtin_popcountll(atomic_load(&places)) == processors || processors > 64);
    WANT(atomic_load(&closed) == 1);
    WANT(value(b, "sw_task_clock_ns") > 1e5);
    WANT(isnan(value(b, "hw_cycles")) && missing(b, "hw_cycles") == NULL); /* nobody asked for it */
    return 0;
}

static int no_likwid_here(struct bench *b)
{
    WANT(strstr(missing(b, "likwid"), "no group L3") != NULL);
    WANT(atomic_load(&started) == 0);
    WANT(value(b, "sw_task_clock_ns") > 1e5);
    return 0;
}

static int told(struct bench *b)
{
    WANT(strcmp(missing(b, "likwid"), "tried before") == 0);
    return 0;
}

static void test_this_machine(void)
{
    in_child("none", nothing);
    in_child("perf", real);
}

static void test_turns(void)
{
    fake = true;
    enabled = 4000;
    running = 1000;
    in_child("perf", scaled);
    running = 0;
    in_child("perf", never);
    fake = false;
}

static void test_refusals(void)
{
    fake = true;
    enabled = running = 1;
    refuse_kernel = EACCES;
    in_child("perf", without);
    refuse_kernel = 0;
    refuse_hardware = ENOENT;
    in_child("perf", none_there);
    refuse_hardware = 0;
    refuse_all = ENOSYS;
    in_child("perf", refused);
    refuse_all = 0;
    fake = false;
}

static void test_likwid(void)
{
    in_child("likwid", by_likwid);
    likwid_dies = true; /* in the trial, and only there */
    in_child("likwid", no_likwid_here);
    setenv("TENTER_LIKWID", "tried before", 1);
    in_child("likwid", told);
    unsetenv("TENTER_LIKWID");
    likwid_dies = false;
}

int main(void)
{
    static const struct test tests[] = {
        {"what this machine has", test_this_machine},
        {"counters that take turns", test_turns},
        {"refusals", test_refusals},
        {"likwid", test_likwid},
    };
    return HARNESS_RUN("counters", tests);
}
