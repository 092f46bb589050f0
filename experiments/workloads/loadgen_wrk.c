/* SPDX-License-Identifier: MIT
 *
 * wrk in place of our own generator, as a witness: the server is started, measured and ended as ever, and who loads it has been
 * written by others. It says what it has seen on standard output, for people.
 */
#include "loadgen.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Behind what `text` has after its first `mark`: "1.25ms" in nanoseconds. 0: it is not there. */
static double duration_behind(const char *text, const char *mark)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
    const char *at = strstr(text, mark);
    char *end;
    double value = at != NULL ? strtod(at + strlen(mark), &end) : 0;
    for (size_t i = 0; at != NULL && i < sizeof units / sizeof *units; i++)
        if (strncmp(end, units[i].name, strlen(units[i].name)) == 0)
            return value * units[i].ns;
    return 0;
}

static double number_behind(const char *text, const char *mark)
{
    const char *at = strstr(text, mark);
    return at != NULL ? strtod(at + strlen(mark), NULL) : 0;
}

/* Of the lines "  Socket errors: connect 0, read 1, write 0, timeout 3" and "  Non-2xx or 3xx responses: 7", if there are any. */
bool wrk_said(const char *text, struct wrk_seen *seen)
{
    const char *requests = strstr(text, " requests in "), *errors = strstr(text, "Socket errors:");
    *seen = (struct wrk_seen){.throughput = number_behind(text, "Requests/sec:"),
                              .mean = duration_behind(text, "Latency  "),
                              .median = duration_behind(text, "\n     50%"),
                              .p90 = duration_behind(text, "\n     90%"),
                              .p99 = duration_behind(text, "\n     99%"),
                              .errors = number_behind(text, "Non-2xx or 3xx responses:")};
    if (errors != NULL) {
        seen->errors +=
            number_behind(errors, "connect ") + number_behind(errors, "read ") + number_behind(errors, "write ");
        seen->timeouts = number_behind(errors, "timeout ");
    }
    while (requests != NULL && requests > text && requests[-1] >= '0' && requests[-1] <= '9')
        requests--;
    seen->requests = requests != NULL ? strtod(requests, NULL) : 0;
    return seen->requests > 0 && seen->throughput > 0;
}

static double seconds(struct rusage of)
{
    return (double)(of.ru_utime.tv_sec + of.ru_stime.tv_sec) +
           (double)(of.ru_utime.tv_usec + of.ru_stime.tv_usec) / 1e6;
}

/* In the child. */
static void becomes_wrk(int out)
{
    char threads[16], connections[16], duration[16], timeout[16], url[4400];
    unsigned first = (unsigned)bench_int(load.b, "workers");
    snprintf(threads, sizeof threads, "%d", load.threads);
    snprintf(connections, sizeof connections, "%d", load.connections);
    snprintf(duration, sizeof duration, "%.0fs", load.duration);
    snprintf(timeout, sizeof timeout, "%.0fs", ceil(load.timeout));
    snprintf(url, sizeof url, "http://%s:%d%.4000s", load.host, bench_address_port(&load.to), load.path);
    if (bench_int(load.b, "apart"))
        bench_pin(bench_processors() > first ? first : 0);
    if (dup2(out, 1) >= 0 && dup2(out, 2) >= 0)
        execlp("wrk", "wrk", "--latency", "-t", threads, "-c", connections, "-d", duration, "--timeout", timeout, url,
               (char *)NULL);
    _exit(errno == ENOENT ? BENCH_UNSUPPORTED : BENCH_INTERNAL);
}

void wrk_run(struct wrk_seen *seen)
{
    static char text[16384];
    int ends[2], status = 0;
    size_t n = 0;
    ssize_t some;
    struct rusage before, after;
    getrusage(RUSAGE_CHILDREN, &before);
    pid_t pid = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid < 0)
        bench_die(load.b, BENCH_INTERNAL, "no process for wrk: %s", strerror(errno));
    if (pid == 0)
        becomes_wrk(ends[1]);
    close(ends[1]);
    while (n < sizeof text - 1 && (some = read(ends[0], text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)some;
    text[n] = '\0';
    close(ends[0]);
    if (atomic_load_explicit(&load.stopped, memory_order_relaxed) != 0) /* relaxed: by a signal to this thread */
        kill(pid, SIGTERM);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    getrusage(RUSAGE_CHILDREN, &after);
    if (WIFEXITED(status) && WEXITSTATUS(status) == BENCH_UNSUPPORTED)
        bench_die(load.b, BENCH_UNSUPPORTED, "wrk is not installed");
    if (atomic_load_explicit(&load.stopped, memory_order_relaxed) == 0 && /* relaxed: so too */
        (status != 0 || !wrk_said(text, seen)) && !server_lost(load.b, 1))
        bench_invalid(load.b, "wrk: %.*s", (int)strcspn(text, "\n"), text);
    seen->busy = (seconds(after) - seconds(before)) / load.duration / load.threads;
}
