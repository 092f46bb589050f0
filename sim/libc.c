/* SPDX-License-Identifier: MIT
 *
 * What a simulated program gets in the place of some functions of the C library (bin/as renames them):
 * those that move memory, whose accesses count, and those that ask for the time, for processors, for sleep or a mutex.
 * What else waits or tells the time is refused there. Others are the library's own, and cost nothing: what prints is not
 * part of what is measured.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Such functions go by 32 bytes at a time. */
static void bytes(size_t n)
{
    sim_insns += 10 + n / 16;
}

void *simulated_memcpy(void *to, const void *from, size_t n);
void *simulated_memcpy(void *to, const void *from, size_t n)
{
    bytes(n);
    if (n != 0) {
        sim_plain(from, n, SIM_READ);
        sim_plain(to, n, SIM_WRITE);
    }
    return memcpy(to, from, n);
}

void *simulated_memmove(void *to, const void *from, size_t n);
void *simulated_memmove(void *to, const void *from, size_t n)
{
    bytes(n);
    if (n != 0) {
        sim_plain(from, n, SIM_READ);
        sim_plain(to, n, SIM_WRITE);
    }
    return memmove(to, from, n);
}

void *simulated_memset(void *to, int c, size_t n);
void *simulated_memset(void *to, int c, size_t n)
{
    bytes(n);
    if (n != 0)
        sim_plain(to, n, SIM_WRITE);
    return memset(to, c, n);
}

void *simulated_memchr(const void *in, int c, size_t n);
void *simulated_memchr(const void *in, int c, size_t n)
{
    const void *found = memchr(in, c, n);
    size_t read = found != NULL ? (size_t)((const char *)found - (const char *)in) + 1 : n;
    bytes(read);
    if (read != 0)
        sim_plain(in, read, SIM_READ);
    return (void *)(uintptr_t)found;
}

int simulated_memcmp(const void *a, const void *b, size_t n);
int simulated_memcmp(const void *a, const void *b, size_t n)
{
    bytes(n);
    if (n != 0) {
        sim_plain(a, n, SIM_READ);
        sim_plain(b, n, SIM_READ);
    }
    return memcmp(a, b, n);
}

/* ---- time ---- */

static struct timespec time_of(uint64_t ps)
{
    return (struct timespec){(time_t)(ps / SIM_PS / 1000000000), (long)(ps / SIM_PS % 1000000000)};
}

int simulated_clock_gettime(clockid_t clock, struct timespec *to);
int simulated_clock_gettime(clockid_t clock, struct timespec *to)
{
    /* Processor time is the system's to tell. Whichever other clock shows the simulated time since the start, and a second. */
    if (clock == CLOCK_PROCESS_CPUTIME_ID)
        sim_kernel(sim_machine.park);
    else
        sim_charge(sim_machine.clock);
    *to = time_of(clock == CLOCK_PROCESS_CPUTIME_ID ? sim_used() : sim_now);
    return 0;
}

int simulated_timespec_get(struct timespec *to, int base);
int simulated_timespec_get(struct timespec *to, int base)
{
    simulated_clock_gettime(CLOCK_REALTIME, to);
    return base;
}

int simulated_gettimeofday(struct timeval *to, void *zone);
int simulated_gettimeofday(struct timeval *to, void *zone)
{
    struct timespec now;
    (void)zone;
    simulated_clock_gettime(CLOCK_REALTIME, &now);
    *to = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t simulated_time(time_t *to);
time_t simulated_time(time_t *to)
{
    struct timespec now;
    simulated_clock_gettime(CLOCK_REALTIME, &now);
    if (to != NULL)
        *to = now.tv_sec;
    return now.tv_sec;
}

int simulated_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left);
int simulated_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left)
{
    (void)clock, (void)left; /* nothing interrupts it */
    if (t->tv_sec < 0 || t->tv_nsec < 0 || t->tv_nsec >= 1000000000)
        return EINVAL;
    sim_kernel(sim_machine.park);
    uint64_t far = UINT64_C(1) << 53,
             from = flags & TIMER_ABSTIME ? 0 : sim_now; /* beyond: never; see engine.c, keys */
    uint64_t ps = (uint64_t)t->tv_sec < far / SIM_PS / 1000000000
                      ? ((uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec) * SIM_PS
                      : far;
    sim_sleep(NULL, ps < far - from ? from + ps : SIM_NEVER);
    return 0;
}

int simulated_nanosleep(const struct timespec *how_long, struct timespec *left);
int simulated_nanosleep(const struct timespec *how_long, struct timespec *left)
{
    int rc = simulated_clock_nanosleep(CLOCK_REALTIME, 0, how_long, left);
    errno = rc != 0 ? rc : errno;
    return rc != 0 ? -1 : 0;
}

int simulated_usleep(useconds_t us);
int simulated_usleep(useconds_t us)
{
    struct timespec ts = {us / 1000000, (long)(us % 1000000) * 1000};
    return simulated_nanosleep(&ts, NULL);
}

unsigned simulated_sleep(unsigned s);
unsigned simulated_sleep(unsigned s)
{
    struct timespec ts = {s, 0};
    simulated_nanosleep(&ts, NULL);
    return 0;
}

long simulated_syscall(long number, ...);
long simulated_syscall(long number, ...)
{
    va_list args;
    va_start(args, number);
    (void)va_arg(args, int);
    struct timespec *to = va_arg(args, struct timespec *);
    va_end(args);
    if (number != SYS_clock_gettime) {
        errno = ENOSYS;
        return -1;
    }
    sim_kernel(sim_machine.call);
    *to = time_of(sim_now);
    return 0;
}

/* ---- processors, threads ---- */

int simulated_sched_yield(void);
int simulated_sched_yield(void)
{
    sim_yield();
    return 0;
}

int simulated_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int simulated_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    (void)pid;
    memset(set, 0, size);
    for (unsigned i = 0; i < sim_processors; i++)
        CPU_SET_S(i, size, set);
    return 0;
}

int simulated_sched_getcpu(void);
int simulated_sched_getcpu(void)
{
    sim_charge(sim_machine.clock); /* like that one, a look at a page of the kernel's */
    return (int)sim_me->core;
}

int simulated_pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set);
int simulated_pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set)
{
    (void)thread;
    for (unsigned i = 0; i < sim_processors; i++)
        if (CPU_ISSET_S(i, size, set)) {
            if (CPU_COUNT_S(size, set) == 1)
                sim_pin(i);
            return 0;
        }
    return EINVAL;
}

int simulated_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int simulated_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    (void)attr;
    struct sim_thread *made = sim_create(fn, arg);
    if (made == NULL)
        return EAGAIN;
    *t = (pthread_t)(uintptr_t)made;
    return 0;
}

int simulated_pthread_join(pthread_t t, void **result);
int simulated_pthread_join(pthread_t t, void **result)
{
    void *value = sim_join((struct sim_thread *)(uintptr_t)t);
    if (result != NULL)
        *result = value;
    return 0;
}

/* A mutex without attributes: 0 is free, 1 held, 2 held and somebody may sleep. */
static int *word_of(pthread_mutex_t *m)
{
    if (m->__data.__kind != PTHREAD_MUTEX_DEFAULT)
        sim_die(77, "a pthread mutex with attributes is not simulated");
    return &m->__data.__lock;
}

int simulated_pthread_mutex_trylock(pthread_mutex_t *m);
int simulated_pthread_mutex_trylock(pthread_mutex_t *m)
{
    int *word = word_of(m);
    sim_touch(word, sizeof *word, SIM_UPDATE);
    if (*word != 0)
        return EBUSY;
    *word = 1;
    return 0;
}

int simulated_pthread_mutex_lock(pthread_mutex_t *m);
int simulated_pthread_mutex_lock(pthread_mutex_t *m)
{
    int *word = word_of(m);
    if (simulated_pthread_mutex_trylock(m) == 0)
        return 0;
    for (;;) {
        sim_touch(word, sizeof *word, SIM_UPDATE);
        int old = *word;
        *word = 2;
        if (old == 0)
            return 0;
        sim_kernel(sim_machine.park);
        sim_arrive();
        if (*word == 2)
            sim_sleep(word, SIM_NEVER);
    }
}

int simulated_pthread_mutex_unlock(pthread_mutex_t *m);
int simulated_pthread_mutex_unlock(pthread_mutex_t *m)
{
    int *word = word_of(m);
    sim_touch(word, sizeof *word, SIM_UPDATE);
    int old = *word;
    *word = 0;
    if (old == 2)
        sim_wake(word, 1);
    return 0;
}

int simulated_mallopt(int what, int value);
int simulated_mallopt(int what, int value)
{
    (void)what, (void)value; /* about an allocator that a simulated program does not have */
    return 1;
}

/* ---- main ---- */

static int argument_count;
static char **arguments;
int simulated_main(int argc, char **argv);

static void *run_main(void *unused)
{
    (void)unused;
    exit(simulated_main(argument_count, arguments));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The program sees the variables that are meant for it, in one order: what else the host has must not cost anything. */
static void keep_environment(void)
{
    size_t n = 0;
    for (char **at = environ; *at != NULL; at++)
        if (strncmp(*at, "TENTER_", 7) == 0)
            environ[n++] = *at;
    environ[n] = NULL;
    qsort(environ, n, sizeof *environ, by_text);
}

static bool chosen(const char *name)
{
    const char *value = getenv(name);
    if (value == NULL || strcmp(value, "0") == 0)
        return false;
    if (strcmp(value, "1") != 0)
        sim_die(2, "%s=%s: 0 or 1", name, value);
    return true;
}

int main(int argc, char **argv)
{
    const char *machine = getenv("TENTER_MACHINE"), *cores = getenv("TENTER_CORES");
    char *end = NULL;
    unsigned long n = cores != NULL ? strtoul(cores, &end, 10) : 0;
    if (cores != NULL && (*cores < '0' || *cores > '9' || *end != '\0' || n == 0))
        sim_die(2, "TENTER_CORES=%s: how many of the machine's cores, 1 to %d", cores, SIM_CORES);
    sim_where_open();
    sim_report_open();
    keep_environment();
    argument_count = argc;
    arguments = argv;
    sim_machine_load(machine != NULL ? machine : "epyc7702x2", n < UINT32_MAX ? (unsigned)n : UINT32_MAX,
                     chosen("TENTER_SMT"));
    sim_lines_open();
    if (chosen("TENTER_CAPACITIES"))
        sim_capacities_open();
    sim_arena_open();
    sim_start(run_main, NULL);
    return 0;
}
