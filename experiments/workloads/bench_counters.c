/* SPDX-License-Identifier: MIT
 *
 * Counters around the measured region: Linux's perf events, software and hardware, and likwid.
 *
 * The events are opened by the main thread before there are others, and inherited: they count every thread of the
 * process. Events of one group are on the processor together or not at all; where there are fewer counters than
 * events the kernel lets groups take turns, and what they read is scaled up by the time that they had (hw_share tells
 * the least share; a group that had none is unavailable).
 */
#include "bench_counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { COUNTERS_NONE, COUNTERS_PERF, COUNTERS_LIKWID };
enum { SOFTWARE, CORE, STALLS, GROUPS };

static struct event {
    const char *name;
    unsigned group, type;
    uint64_t config;
    int fd;
    const char *why; /* not NULL: not available */
} events[] = {
    {"sw_task_clock_ns", SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, -1, NULL},
    {"sw_context_switches", SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, -1, NULL},
    {"sw_page_faults", SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, -1, NULL},
    {"sw_migrations", SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, -1, NULL},
    {"hw_cycles", CORE, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, -1, NULL},
    {"hw_instructions", CORE, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1, NULL},
    {"hw_cache_misses", CORE, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, -1, NULL},
    {"hw_branch_misses", CORE, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, -1, NULL},
    {"hw_stalled_frontend", STALLS, PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, -1, NULL},
    {"hw_stalled_backend", STALLS, PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, -1, NULL},
};
enum { EVENTS = sizeof events / sizeof *events };

static int64_t source;
static int leader[GROUPS] = {-1, -1, -1};
static bool user_only, in_region;
static unsigned regions;
static const char *no_likwid;
static struct rusage before, used; /* of the software events where the kernel refuses them */

static const char *reason(int error)
{
    switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        return "the processor, or the virtual one, has no such event";
    case ENOSYS:
        return "the kernel has no perf events";
    case EACCES:
    case EPERM:
        return "forbidden: see kernel.perf_event_paranoid, or the container's filter";
    case EMFILE:
    case ENOSPC:
        return "too many events";
    default:
        return strerror(error);
    }
}

static int open_event(const struct event *e, bool without_kernel)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = e->type;
    attr.config = e->config;
    attr.disabled = leader[e->group] < 0; /* members follow their leader */
    attr.inherit = 1;
    attr.exclude_hv = 1;
    attr.exclude_kernel = without_kernel;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader[e->group], PERF_FLAG_FD_CLOEXEC);
}

static void open_events(void)
{
    for (int i = 0; i < EVENTS; i++) {
        struct event *e = &events[i];
        if (e->name == NULL)
            continue;
        e->fd = open_event(e, user_only && e->group != SOFTWARE);
        /* Who may not count the kernel's share counts without it. A context switch, though, is wholly the kernel's. */
        if (e->fd < 0 && (errno == EACCES || errno == EPERM) && e->group != SOFTWARE && !user_only) {
            e->fd = open_event(e, true);
            user_only = e->fd >= 0;
        }
        e->why = e->fd < 0 ? reason(errno) : NULL;
        if (e->fd >= 0 && leader[e->group] < 0)
            leader[e->group] = e->fd;
    }
}

static void switch_events(unsigned long request)
{
    for (int g = 0; g < GROUPS; g++)
        if (leader[g] >= 0)
            ioctl(leader[g], request, PERF_IOC_FLAG_GROUP);
}

/* ---- for programs ---- */

void bench_counters_open(struct bench *b)
{
#if defined(TENTER_SIMULATED)
    if (bench_int(b, "counters") != 0)
        bench_die(b, BENCH_UNSUPPORTED,
                  "--counters: a simulated machine has none; \"sim\" in the record tells what it counts");
#endif
    source = bench_int(b, "counters");
    if (source == COUNTERS_NONE)
        return;
    if (source == COUNTERS_LIKWID) {
        for (int i = 0; i < EVENTS; i++)
            if (events[i].group != SOFTWARE)
                events[i].name = NULL;
        no_likwid = bench_likwid_open(bench_text(b, "likwid-group"));
    }
    open_events();
}

void bench_region_start(struct bench *b, int rep)
{
    if (source == COUNTERS_NONE || bench_warmup(b, rep))
        return;
    in_region = true;
    regions++;
    getrusage(RUSAGE_SELF, &before);
    if (source == COUNTERS_LIKWID && no_likwid == NULL)
        bench_likwid_start();
    switch_events(PERF_EVENT_IOC_ENABLE);
}

static void add(struct timeval *sum, struct timeval since, struct timeval until)
{
    sum->tv_sec += until.tv_sec - since.tv_sec;
    sum->tv_usec += until.tv_usec - since.tv_usec; /* may leave its range: only ever read as a sum */
}

void bench_region_stop(void)
{
    struct rusage after;
    if (!in_region)
        return;
    switch_events(PERF_EVENT_IOC_DISABLE);
    if (source == COUNTERS_LIKWID && no_likwid == NULL)
        bench_likwid_stop();
    getrusage(RUSAGE_SELF, &after);
    add(&used.ru_utime, before.ru_utime, after.ru_utime);
    add(&used.ru_stime, before.ru_stime, after.ru_stime);
    used.ru_nvcsw += after.ru_nvcsw - before.ru_nvcsw;
    used.ru_nivcsw += after.ru_nivcsw - before.ru_nivcsw;
    used.ru_minflt += after.ru_minflt - before.ru_minflt;
    used.ru_majflt += after.ru_majflt - before.ru_majflt;
    in_region = false;
}

/* What getrusage knows of a software event; NaN: nothing. */
static double from_rusage(uint64_t config)
{
    switch (config) {
    case PERF_COUNT_SW_TASK_CLOCK:
        return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e9 +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e3;
    case PERF_COUNT_SW_CONTEXT_SWITCHES:
        return (double)(used.ru_nvcsw + used.ru_nivcsw);
    case PERF_COUNT_SW_PAGE_FAULTS:
        return (double)(used.ru_minflt + used.ru_majflt);
    default:
        return NAN;
    }
}

/* The value; of the hardware scaled to the whole time. NaN where it had none. */
static double read_event(struct event *e, double *share)
{
    uint64_t got[3] = {0, 0, 0}; /* value, time enabled, time on the processor */
    if (read(e->fd, got, sizeof got) != (ssize_t)sizeof got)
        e->why = "it cannot be read";
    else if (e->group != SOFTWARE && got[1] != 0 && got[2] == 0)
        e->why = "it never had a counter of the processor";
    if (e->why != NULL)
        return NAN;
    double part = e->group != SOFTWARE && got[1] != 0 ? (double)got[2] / (double)got[1] : 1;
    *share = part < *share ? part : *share;
    return (double)got[0] / part;
}

void bench_counters_record(struct bench *b)
{
    double share = 1;
    bool hardware = false;
    if (source == COUNTERS_NONE)
        return;
    for (int i = 0; i < EVENTS; i++) {
        struct event *e = &events[i];
        if (e->name == NULL)
            continue;
        double value = e->why == NULL ? read_event(e, &share) : NAN;
        if (isnan(value) && e->group == SOFTWARE)
            value = from_rusage(e->config);
        hardware = hardware || (e->group != SOFTWARE && !isnan(value));
        if (isnan(value))
            bench_unavailable(b, e->name, e->why);
        else
            bench_count(b, e->name, value);
        if (e->fd >= 0)
            close(e->fd);
    }
    if (hardware) {
        bench_count(b, "hw_share", share);
        bench_count(b, "hw_user_only", user_only);
    }
    if (source == COUNTERS_LIKWID && no_likwid == NULL)
        bench_likwid_record(b);
    else if (source == COUNTERS_LIKWID)
        bench_unavailable(b, "likwid", no_likwid);
    bench_count(b, "counted_regions", regions);
}
