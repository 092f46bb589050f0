/* SPDX-License-Identifier: MIT
 *
 * A generator of requests of HTTP/1.1 or memcached's text protocol, over TCP on this machine, closed or open (--rate), in
 * threads with a loop each. It starts the server, measures what that costs, and ends it.
 */
#include "loadgen.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { THREADS_MAX = 64 };

struct load load;

static struct thread threads[THREADS_MAX];
static _Atomic(int) ready;
static _Atomic(uint64_t) at;
static struct hdr *latency, *late;
static double empty; /* the server's memory without connections */

static void *runs(void *arg)
{
    struct thread *t = arg;
    if (bench_int(load.b, "apart")) {
        unsigned n = bench_processors(), first = (unsigned)bench_int(load.b, "workers");
        bench_pin(n > first ? first + (unsigned)t->number % (n - first) : (unsigned)t->number);
    }
    thread_run(t, &ready, &at);
    return NULL;
}

static void stops(int number)
{
    atomic_store_explicit(&load.stopped, number, memory_order_relaxed); /* relaxed: a flag alone */
}

/* From here on the first SIGINT or SIGTERM ends the repetition, and what was measured before it is kept; the second
 * one the process. */
static void stops_at_signals(void)
{
    struct sigaction act = {.sa_handler = stops, .sa_flags = (int)SA_RESETHAND}, now;
    static const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < 2; i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(numbers[i], &act, NULL);
}

static bool is_stopped(struct bench *b)
{
    int number = atomic_load_explicit(&load.stopped, memory_order_relaxed); /* relaxed: a flag alone */
    if (number != 0)
        bench_invalid(b, "was stopped by signal %d in repetition %d of %d", number, load.rep + 1, bench_reps(b));
    return number != 0;
}

/* What ended the repetition, or makes it none: false, with a message in the record. */
static bool finished(struct bench *b)
{
    const char *wrong = NULL;
    bool closed = false;
    if (is_stopped(b))
        return false;
    for (int i = 0; i < load.threads; i++) {
        wrong = wrong != NULL ? wrong : threads[i].wrong;
        closed = closed || threads[i].closed;
    }
    if ((wrong != NULL || load.silent) && server_lost(b, wrong != NULL || closed ? 1 : 0))
        return false;
    if (wrong != NULL)
        bench_invalid(b, "in repetition %d of %d: %s", load.rep + 1, bench_reps(b), wrong);
    else if (load.silent && closed)
        bench_invalid(b, "every connection was closed without an answer in repetition %d of %d%s", load.rep + 1,
                      bench_reps(b), load.rep == 0 ? ": wrong --protocol?" : "");
    else if (load.silent)
        bench_invalid(b, "nothing was answered in repetition %d of %d: %s", load.rep + 1, bench_reps(b),
                      load.rep == 0 ? "wrong --protocol, or too short a --timeout?" : "the server answers no more");
    return wrong == NULL && !load.silent;
}

/* What of the generator itself would make the figures its own. */
static void judge(struct bench *b, double answers, double due, double busy)
{
    bool behind = answers < 0.95 * due; /* of those that chance has made due, which may be fewer than --rate says */
    if (busy > 0.95 && behind)
        bench_saturated(b, "the generator was the bottleneck: a thread of it was busy for %.0f %% of the time",
                        busy * 100);
    else if (behind)
        bench_saturated(b, "%.0f answers a second, of %.0f that were to be asked for", answers / load.duration,
                        due / load.duration);
    else if (busy > 0.95 && b->message[0] == '\0')
        snprintf(b->message, sizeof b->message,
                 "the generator was the bottleneck: a thread of it was busy for %.0f %% of the time", busy * 100);
}

static void samples(struct bench *b, int rep, double cpu, double memory, uint64_t calls)
{
    double answers = 0, due = 0, errors = 0, misses = 0, timeouts = 0, reconnects = 0, busy = 0, sum = 0, squares = 0;
    const char *error = "";
    static struct hdr *all;
    all = all != NULL ? all : hdr_new();
    if (all == NULL)
        bench_die(b, BENCH_INTERNAL, "no memory");
    hdr_clear(all);
    for (int i = 0; i < load.threads; i++) {
        struct thread *t = &threads[i];
        answers += (double)t->answers;
        due += (double)t->due;
        errors += (double)t->errors;
        error = error[0] != '\0' ? error : t->error;
        misses += (double)t->misses;
        sum += t->sum;
        squares += t->squares;
        timeouts += (double)t->timeouts;
        reconnects += (double)t->reconnects;
        busy = t->busy > busy ? t->busy : busy;
        hdr_merge(all, t->latency);
        if (!bench_warmup(b, rep)) {
            hdr_merge(latency, t->latency);
            hdr_merge(late, t->late);
        }
    }
    bench_sample(b, "throughput", "1/s", answers / load.duration, rep);
    bench_sample(b, "latency_median", "ns", (double)hdr_percentile(all, 50), rep);
    if (hdr_supports(all, 90))
        bench_sample(b, "latency_p90", "ns", (double)hdr_percentile(all, 90), rep);
    if (hdr_supports(all, 99))
        bench_sample(b, "latency_p99", "ns", (double)hdr_percentile(all, 99), rep);
    if (all->total > 0) {
        double n = (double)all->total, variance = squares / n - sum / n * (sum / n);
        bench_sample(b, "latency_mean", "ns", sum / n, rep);
        bench_sample(b, "latency_deviation", "ns", sqrt(variance > 0 ? variance : 0), rep);
    }
    bench_sample(b, "latency_greatest", "ns", (double)all->most, rep);
    if (cpu > 0 && answers > 0) {
        bench_sample(b, "cpu", "ns", cpu / answers, rep);
        bench_sample(b, "memory", "B", memory * 1024 / load.connections, rep);
    }
    if (calls > 0 && answers > 0)
        bench_sample(b, "calls", "1", (double)calls / answers, rep);
    bench_sample(b, "generator_busy", "1", busy, rep);
    bench_sample(b, "errors", "1", errors, rep);
    bench_sample(b, "timeouts", "1", timeouts, rep);
    if (answers + timeouts > 0)
        bench_sample(b, "timeout_share", "1", timeouts / (answers + timeouts), rep);
    if (load.memcached)
        bench_sample(b, "misses", "1", misses, rep);
    if (!bench_warmup(b, rep))
        bench_count(b, "reconnects", reconnects);
    if (errors > 0 && answers == 0 && error[0] == '\0')
        bench_invalid(b, "every connection was closed without an answer");
    else if (errors > 0 && answers == 0)
        bench_invalid(b, "every answer was an error: %s%s", error, load.memcached ? "" : "; another --path?");
    if (load.rate > 0)
        bench_sample(b, "due", "1/s", due / load.duration, rep);
    judge(b, answers, due, busy);
}

/* Is there no thread whose connections have had an answer, and none that has said what is wrong? All have tried. */
static bool silent(void)
{
    for (int i = 0; i < load.threads; i++)
        if (threads[i].answered || threads[i].wrong != NULL)
            return false;
    return true;
}

/* Since the beginning; 0: nobody counts them. */
static uint64_t calls_now(void)
{
    uint64_t n;
    return server_calls(&n) ? n : 0;
}

/* One of wrk's: what it says, and what that has cost the server, with its connections made and closed. */
static void repetition_of_wrk(struct bench *b, int rep)
{
    struct wrk_seen seen = {0};
    uint64_t calls = calls_now();
    double cpu = (double)server_cpu();
    wrk_run(&seen);
    cpu = (double)server_cpu() - cpu;
    calls = calls_now() - calls;
    if (is_stopped(b) || server_lost(b, 0))
        return;
    const struct {
        const char *name;
        double ns;
    } latencies[] = {{"latency_median", seen.median},
                     {"latency_p90", seen.p90},
                     {"latency_p99", seen.p99},
                     {"latency_mean", seen.mean}};
    bench_sample(b, "throughput", "1/s", seen.throughput, rep);
    for (size_t i = 0; i < sizeof latencies / sizeof *latencies; i++)
        if (latencies[i].ns > 0)
            bench_sample(b, latencies[i].name, "ns", latencies[i].ns, rep);
    if (cpu > 0 && seen.requests > 0)
        bench_sample(b, "cpu", "ns", cpu / seen.requests, rep);
    if (calls > 0 && seen.requests > 0)
        bench_sample(b, "calls", "1", (double)calls / seen.requests, rep);
    bench_sample(b, "generator_busy", "1", seen.busy, rep);
    bench_sample(b, "errors", "1", seen.errors, rep);
    bench_sample(b, "timeouts", "1", seen.timeouts, rep);
}

static void repetition(struct bench *b, int rep)
{
    pthread_t all[THREADS_MAX];
    atomic_store_explicit(&ready, 0, memory_order_relaxed); /* relaxed: there is no thread */
    atomic_store_explicit(&at, 0, memory_order_relaxed);
    atomic_store_explicit(&load.over, false, memory_order_relaxed);
    for (int i = 0; i < load.threads; i++) {
        struct thread *t = &threads[i];
        struct hdr *keep = t->latency, *kept = t->late;
        *t = (struct thread){.number = i,
                             .busy = -1,
                             .seed = (uint64_t)bench_int(b, "seed") * 1000003u + (uint64_t)(rep * THREADS_MAX + i),
                             .latency = keep != NULL ? keep : hdr_new(),
                             .late = kept != NULL ? kept : hdr_new()};
        if (t->latency == NULL || t->late == NULL)
            bench_die(b, BENCH_INTERNAL, "no memory");
        hdr_clear(t->latency);
        hdr_clear(t->late);
        if (pthread_create(&all[i], NULL, runs, t) != 0)
            bench_die(b, BENCH_INTERNAL, "no thread");
    }
    while (atomic_load_explicit(&ready, memory_order_acquire) < load.threads) /* G0 */
        usleep(200);
    load.silent = silent();
    double memory = server_memory() - empty, cpu = (double)server_cpu();
    uint64_t calls = calls_now();
    uint64_t start = bench_now() + 2000000;
    atomic_store_explicit(&at, start, memory_order_release); /* G1 */
    while (bench_now() < start + (uint64_t)(load.duration * 1e9) &&
           atomic_load_explicit(&ready, memory_order_relaxed) == load.threads && /* relaxed, both: a hint */
           !load.silent && atomic_load_explicit(&load.stopped, memory_order_relaxed) == 0)
        usleep(1000);
    cpu = (double)server_cpu() - cpu;
    calls = calls_now() - calls;
    double during = server_memory() - empty;
    memory = during > memory ? during : memory;
    for (int i = 0; i < load.threads; i++)
        pthread_join(all[i], NULL);
    if (finished(b))
        samples(b, rep, cpu, memory > 0 ? memory : 0, calls);
}

/* Options into `load`; what does not go together ends here. */
static void settings(struct bench *b)
{
    static const char *const of_memcached[] = {"keys", "key-size", "value-size", "sizes", "writes", "key-skew"};
    static const char *const of_server[] = {"scheduler", "quota", "calls"};
    static const char *const not_of_wrk[] = {"depth", "per-connection", "rate", "addresses"};
    load = (struct load){.b = b,
                         .memcached = bench_int(b, "protocol") == 1,
                         .wrk = bench_int(b, "generator") == 1,
                         .rep = -1,
                         .threads = (int)bench_int(b, "threads"),
                         .connections = (int)bench_int(b, "connections"),
                         .depth = (int)bench_int(b, "depth"),
                         .per_connection = (int)bench_int(b, "per-connection"),
                         .addresses = (int)bench_int(b, "addresses"),
                         .rate = bench_given(b, "rate") ? bench_real(b, "rate") : 0,
                         .duration = bench_real(b, "duration"),
                         .timeout = bench_real(b, "timeout"),
                         .writes = bench_real(b, "writes"),
                         .path = bench_text(b, "path"),
                         .keys = (uint64_t)bench_int(b, "keys"),
                         .etc = bench_int(b, "sizes") == 1,
                         .key_size = (int)bench_int(b, "key-size"),
                         .value_size = (int)bench_int(b, "value-size"),
                         .arrivals = (int)bench_int(b, "arrivals")};
    if (bench_given(b, "server") == bench_given(b, "port"))
        bench_die(b, BENCH_USAGE, "one of --server (a program to start) and --port (of one that is there) is needed");
    if (load.threads > load.connections)
        bench_die(b, BENCH_USAGE, "--threads %d have no more than --connections %d to share", load.threads,
                  load.connections);
    for (size_t i = 0; !load.memcached && i < sizeof of_memcached / sizeof *of_memcached; i++)
        if (bench_given(b, of_memcached[i]))
            bench_die(b, BENCH_USAGE, "--%s has no meaning without --protocol memcached", of_memcached[i]);
    if (load.memcached && bench_given(b, "path"))
        bench_die(b, BENCH_USAGE, "--path has no meaning with --protocol memcached");
    if (load.rate == 0 && (bench_given(b, "arrivals") || bench_given(b, "skew")))
        bench_die(b, BENCH_USAGE, "--%s has no meaning without --rate", bench_given(b, "skew") ? "skew" : "arrivals");
    if (load.etc && (bench_given(b, "key-size") || bench_given(b, "value-size")))
        bench_die(b, BENCH_USAGE, "--sizes etc says the sizes of keys and values");
    for (size_t i = 0; bench_given(b, "port") && i < sizeof of_server / sizeof *of_server; i++)
        if (bench_given(b, of_server[i]))
            bench_die(b, BENCH_USAGE, "--%s has no meaning without --server", of_server[i]);
    if (bench_given(b, "host") && bench_given(b, "server"))
        bench_die(b, BENCH_USAGE, "--host has no meaning with --server, which says where it listens");
    for (size_t i = 0; load.wrk && i < sizeof not_of_wrk / sizeof *not_of_wrk; i++)
        if (bench_given(b, not_of_wrk[i]))
            bench_die(b, BENCH_USAGE, "wrk has no --%s", not_of_wrk[i]);
    if (load.wrk && (load.memcached || load.duration != floor(load.duration)))
        bench_die(b, BENCH_USAGE, "wrk speaks HTTP, for whole seconds");
    if (load.wrk && load.threads > 1 && bench_int(b, "apart"))
        bench_die(b, BENCH_USAGE, "wrk --apart has one thread");
    load.of_connections =
        chance_skew((uint32_t)((load.connections + load.threads - 1) / load.threads), bench_real(b, "skew"));
    load.of_keys = chance_skew((uint32_t)load.keys, bench_real(b, "key-skew"));
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"workers", BENCH_INT, "1", 1, 64, NULL, "threads", "of the server", NULL, 0, 0, false},
        {"server", BENCH_TEXT, NULL, 0, 0, NULL, "",
         "program to start, with its options (\"httpd-event --copies\"), beside this one or on the PATH", NULL, 0, 0,
         false},
        {"port", BENCH_INT, NULL, 1, 65535, NULL, "", "of a server that is there already", NULL, 0, 0, false},
        {"host", BENCH_TEXT, "127.0.0.1", 0, 0, NULL, "",
         "with --port: where that server is, numeric (IPv4, IPv6) or a name (default 127.0.0.1)", NULL, 0, 0, false},
        {"protocol", BENCH_CHOICE, "http", 0, 0, "http|memcached", "", "what is spoken", NULL, 0, 0, false},
        {"connections", BENCH_INT, "64", 1, 1000000, NULL, "", "at once", NULL, 0, 0, false},
        {"depth", BENCH_INT, "1", 1, 1024, NULL, "", "requests under way on each connection, at most", NULL, 0, 0,
         false},
        {"per-connection", BENCH_INT, "0", 0, 1e9, NULL, "",
         "requests after which a connection is made anew; 0: it stays", NULL, 0, 0, false},
        {"generator", BENCH_CHOICE, "own", 0, 0, "own|wrk", "",
         "who asks: this program, or Debian's wrk, as a witness", NULL, 0, 0, false},
        {"threads", BENCH_INT, "1", 1, THREADS_MAX, NULL, "", "of the generator", NULL, 0, 0, false},
        {"apart", BENCH_FLAG, NULL, 0, 1, NULL, "",
         "the server has the first --workers processors, the generator the others; where there are none it shares "
         "them",
         NULL, 0, 0, false},
        {"quota", BENCH_REAL, NULL, 0.01, 64, NULL, "processors",
         "most that the server has of them, by a control group of its own (root); absent: no limit", NULL, 0, 0,
         false},
        {"calls", BENCH_FLAG, NULL, 0, 1, NULL, "", "count the server's system calls, which makes all of them slower",
         NULL, 0, 0, false},
        {"duration", BENCH_REAL, "1", 1e-3, 86400, NULL, "s", "length of one repetition", NULL, 0, 0, false},
        {"timeout", BENCH_REAL, "20", 1e-3, 3600, NULL, "s", "after which a request is given up, and its connection",
         NULL, 0, 0, false},
        {"arrivals", BENCH_CHOICE, "poisson", 0, 0, "poisson|pareto|constant", "",
         "gaps between requests under --rate; pareto: as in the workload ETC, scaled to the rate", NULL, 0, 0, false},
        {"skew", BENCH_REAL, "0", 0, 4, NULL, "", "under --rate the k-th connection gets its share by k^-skew", NULL,
         0, 0, false},
        {"addresses", BENCH_INT, "1", 1, 250, NULL, "",
         "127.0.0.1, 127.0.0.2, … that connections to a server at 127.x.x.x come from in turn; more where one has no "
         "port left",
         NULL, 0, 0, false},
        {"path", BENCH_TEXT, "/plaintext", 0, 0, NULL, "", "http: what is asked for", NULL, 0, 0, false},
        {"keys", BENCH_INT, "10000", 1, 1e8, NULL, "", "memcached: that there are, stored beforehand", NULL, 0, 0,
         false},
        {"sizes", BENCH_CHOICE, "fixed", 0, 0, "fixed|etc", "", "memcached: of keys and values", NULL, 0, 0, false},
        {"key-size", BENCH_INT, "30", 16, 250, NULL, "B", "memcached: of a key", NULL, 0, 0, false},
        {"value-size", BENCH_INT, "100", 1, 1000000, NULL, "B", "memcached: of a value", NULL, 0, 0, false},
        {"writes", BENCH_REAL, "0", 0, 1, NULL, "", "memcached: share of the requests that set", NULL, 0, 0, false},
        {"key-skew", BENCH_REAL, "0", 0, 4, NULL, "", "memcached: the k-th key is asked for by k^-skew", NULL, 0, 0,
         false},
    };
    static struct bench b = {
        .program = "loadgen",
        .about = "requests over TCP to a server that it starts",
        .clock =
            "from when each connection has had an answer, for --duration; latency from when a request was due to "
            "the end of its answer; cpu: of the server and its children between the two, for each answer",
        .takes = BENCH_TAKES_RATE | BENCH_TAKES_SCHEDULER,
        .own = own,
        .n = sizeof own / sizeof *own};
    struct rlimit files;
    bench_start(&b, argc, argv);
    settings(&b);
    server_start(&b);
    if (load.addresses > 1 && !connection_within())
        bench_die(&b, BENCH_USAGE, "--addresses are those of 127.0.0.x, from which %s is not reached", load.host);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    latency = hdr_new();
    late = hdr_new();
    if (latency == NULL || late == NULL)
        bench_die(&b, BENCH_INTERNAL, "no memory");
    bool goes = !load.memcached || text_preload();
    empty = server_memory();
    stops_at_signals();
    while (goes && ++load.rep < bench_reps(&b)) { /* after one that is invalid there is nothing to be had */
        (load.wrk ? repetition_of_wrk : repetition)(&b, load.rep);
        goes = b.status != 1;
    }
    if (!load.wrk)
        bench_hist(&b, "latency", "ns", latency);
    if (load.rate > 0)
        bench_hist(&b, "late", "ns", late);
    server_end(&b);
    int code = bench_finish(&b);
    for (int i = 0; i < load.threads; i++) {
        free(threads[i].latency);
        free(threads[i].late);
    }
    free(latency);
    free(late);
    free(load.of_connections);
    free(load.of_keys);
    return code;
}
