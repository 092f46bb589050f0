/* SPDX-License-Identifier: MIT
 *
 * likwid's marker API behind --counters likwid (Debian: likwid; GPL-3, so only with -Dlikwid=enabled or auto).
 *
 * likwid counts what runs on a processor, whichever thread it is, and reads the counters of the processor that the
 * caller is on. So a thread for each processor, pinned, starts and stops the region there: a runtime may move its work
 * as it likes. Initialised from inside the program: no likwid-perfctr around it.
 *
 * On a processor that it does not know, or without rights, likwid waits for seconds, prints, and may end the process.
 * Hence a trial in a child process first, with a time-out; the runner tries once for all its invocations and says by
 * TENTER_LIKWID why there is none.
 */
#include "bench_counters.h"

#include <stdlib.h>

#if BENCH_LIKWID
#define LIKWID_PERFMON

#include <likwid-marker.h>
#include <likwid.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSORS = 1024, EVENTS_MAX = 64, PATIENCE_S = 15 };
enum { NOT_SUPPORTED = 3 };
enum order { START, STOP, COLLECT, END };

static const char region[] = "measured";
static unsigned n;
static enum order order;
static sem_t go[PROCESSORS], gone;
static double sums[EVENTS_MAX];
static int counted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* sums, counted */

static void obey(void)
{
    double values[EVENTS_MAX], seconds;
    int got = EVENTS_MAX, times;
    switch (order) {
    case START:
        LIKWID_MARKER_START(region);
        break;
    case STOP:
        LIKWID_MARKER_STOP(region);
        break;
    case COLLECT:
        LIKWID_MARKER_GET(region, &got, values, &seconds, &times);
        pthread_mutex_lock(&lock);
        counted = got;
        for (int i = 0; i < got; i++)
            sums[i] += values[i];
        pthread_mutex_unlock(&lock);
        break;
    case END:
        break;
    }
}

static void *marker(void *index)
{
    unsigned i = (unsigned)(uintptr_t)index;
    bench_pin(i);
    LIKWID_MARKER_THREADINIT;
    LIKWID_MARKER_REGISTER(region);
    sem_post(&gone);
    for (bool end = false; !end; sem_post(&gone)) {
        sem_wait(&go[i]);
        end = order == END; /* before it is told that we are gone, and may give the next order */
        obey();
    }
    return NULL;
}

/* All threads do it at once; ordered by the semaphores. */
static void command(enum order what)
{
    order = what;
    for (unsigned i = 0; i < n; i++)
        sem_post(&go[i]);
    for (unsigned i = 0; i < n; i++)
        sem_wait(&gone);
}

static bool start_all(const char *group)
{
    char list[8 * PROCESSORS] = "", path[] = "/dev/cpu/0/msr";
    n = bench_processors() < PROCESSORS ? bench_processors() : PROCESSORS;
    for (unsigned i = 0; i < n; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%u", i != 0 ? "," : "", bench_processor(i));
    setenv("LIKWID_MODE", access(path, R_OK | W_OK) == 0 ? "0" : "1", 1); /* directly, or by its daemon */
    setenv("LIKWID_EVENTS", group, 1);
    setenv("LIKWID_THREADS", list, 1);
    setenv("LIKWID_FILEPATH", "/dev/null", 1);
    LIKWID_MARKER_INIT;
    sem_init(&gone, 0, 0);
    for (unsigned i = 0; i < n; i++) {
        pthread_t thread;
        sem_init(&go[i], 0, 0);
        if (pthread_create(&thread, NULL, marker, (void *)(uintptr_t)i) != 0)
            return false;
        pthread_detach(thread);
        sem_wait(&gone);
    }
    return true;
}

/* Everything once, in a child that may hang, print or die. */
static const char *trial(const char *group)
{
    static char why[160];
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
            _exit(NOT_SUPPORTED);
        alarm(PATIENCE_S);
        if (!start_all(group))
            _exit(NOT_SUPPORTED);
        command(START);
        command(STOP);
        command(COLLECT);
        _exit(counted > 0 && sums[0] > 0 ? 0 : NOT_SUPPORTED);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return "no process to try likwid in";
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(why, sizeof why, "likwid gave no answer in %d s", PATIENCE_S);
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        snprintf(why, sizeof why, "likwid has no group %s here, or may not count (see likwid-perfctr -a)", group);
    else
        return NULL;
    return why;
}

const char *bench_likwid_open(const char *group)
{
    const char *known = getenv("TENTER_LIKWID");
    const char *why = known != NULL && known[0] != '\0' ? known : trial(group);
    return why != NULL ? why : start_all(group) ? NULL : "no thread for likwid";
}

void bench_likwid_start(void)
{
    command(START);
}

void bench_likwid_stop(void)
{
    command(STOP);
}

void bench_likwid_record(struct bench *b)
{
    command(COLLECT);
    for (int i = 0; i < counted; i++) {
        char name[48];
        snprintf(name, sizeof name, "likwid_%s", perfmon_getEventName(0, i));
        bench_count(b, name, sums[i]);
    }
    command(END);
    LIKWID_MARKER_CLOSE;
}

#else

const char *bench_likwid_open(const char *group)
{
    (void)group;
    const char *known = getenv("TENTER_LIKWID");
    return known != NULL && known[0] != '\0' ? known : "built without likwid (-Dlikwid=enabled)";
}

void bench_likwid_start(void)
{
}
void bench_likwid_stop(void)
{
}
void bench_likwid_record(struct bench *b)
{
    (void)b;
}

#endif
