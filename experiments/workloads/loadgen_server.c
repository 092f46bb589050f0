/* SPDX-License-Identifier: MIT
 *
 * The server under load: started, measured and ended. It says where it listens on standard error ("listening at 127.0.0.1:PORT",
 * "listening at [::1]:PORT"), what it is for --print-config, and ends at SIGTERM.
 */
#include "loadgen.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 64 };

static pid_t server = -1;
static int said = -1; /* what it writes on standard error */
static bool ended;    /* of itself: `how` */
static int how;       /* as waitpid has it */

/* Program and options: a name without a slash lies beside this program, else on the PATH. */
static void words(struct bench *b, char **out)
{
    static char text[4096], path[PATH_MAX + 256], workers[32];
    char self[PATH_MAX] = "";
    int n = 0;
    snprintf(text, sizeof text, "%s", bench_text(b, "server"));
    for (char *at = strtok(text, " "); at != NULL && n < WORDS - 8; at = strtok(NULL, " "))
        out[n++] = at;
    if (n == 0)
        bench_die(b, BENCH_USAGE, "--server needs a program");
    if (strchr(out[0], '/') == NULL && readlink("/proc/self/exe", self, sizeof self - 1) > 0) {
        snprintf(path, sizeof path, "%s/%s", dirname(self), out[0]);
        if (access(path, X_OK) == 0)
            out[0] = path;
    }
    snprintf(workers, sizeof workers, "%d", (int)bench_int(b, "workers"));
    out[n++] = "--workers";
    out[n++] = workers;
    if (bench_text(b, "scheduler") != NULL) {
        out[n++] = "--scheduler";
        out[n++] = (char *)bench_text(b, "scheduler");
    }
    if (bench_int(b, "pin"))
        out[n++] = "--pin";
    out[n] = NULL;
}

/* The child's standard output and error go to `out` and `err`. */
static pid_t child(struct bench *b, char **with, const char *more, int out, int err)
{
    char *all[WORDS + 1];
    int n = 0;
    pid_t parent = getpid(), pid;
    for (; with[n] != NULL; n++)
        all[n] = with[n];
    all[n++] = (char *)more;
    all[n] = NULL;
    pid = fork();
    if (pid < 0)
        bench_die(b, BENCH_INTERNAL, "fork: %s", strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        calls_await();
        if (getppid() != parent || dup2(out, 1) < 0 || dup2(err, 2) < 0)
            _exit(BENCH_INTERNAL);
        if (!quota_enter()) {
            fprintf(stderr, "loadgen: --quota: the server cannot be put into its control group\n");
            _exit(BENCH_UNSUPPORTED);
        }
        if (bench_int(b, "apart"))
            bench_confine((unsigned)bench_int(b, "workers"));
        execvp(all[0], all);
        fprintf(stderr, "loadgen: %s: %s\n", all[0], strerror(errno));
        _exit(errno == ENOENT ? BENCH_UNSUPPORTED : BENCH_USAGE); /* a peer that is not installed */
    }
    return pid;
}

static int ending_of(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : BENCH_INTERNAL;
}

/* ---- how long it may take ---- */

#define STEP \
    50000000u /* ns, of which a longer one counts as one: who was stopped with the server has not waited for it */

static uint64_t patience(void)
{
    return (uint64_t)((10 + load.timeout) * 1e9);
}

/* One step at most, until there is something to be read. */
static bool waits(int from, uint64_t *left)
{
    uint64_t began = bench_now();
    struct pollfd p = {.fd = from, .events = POLLIN};
    bool ready = poll(&p, from >= 0, STEP / 1000000) > 0;
    uint64_t step = bench_now() - began;
    step = step < STEP ? step : STEP;
    *left -= step < *left ? step : *left;
    return ready;
}

/* As read does, while there is time left. -1: there is none. */
static ssize_t reads(int from, char *to, size_t n, uint64_t *left)
{
    while (*left > 0)
        if (waits(from, left))
            return read(from, to, n);
    return -1;
}

/* False: it has not. */
static bool has_ended(pid_t pid, int *status, uint64_t *left)
{
    pid_t who;
    while ((who = waitpid(pid, status, WNOHANG)) == 0 && *left > 0)
        waits(-1, left);
    return who != 0;
}

/* Calls what(pid) for all its children and it. */
static double over_all(pid_t pid, double (*what)(pid_t))
{
    char path[64];
    double sum = 0;
    int other;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "r");
    while (f != NULL && fscanf(f, "%d", &other) == 1)
        sum += over_all(other, what);
    if (f != NULL)
        fclose(f);
    return sum + what(pid);
}

static double kills(pid_t pid)
{
    return kill(pid, SIGKILL);
}

static _Noreturn void takes_too_long(struct bench *b, pid_t pid, int code, const char *name, const char *what)
{
    over_all(pid, kills);
    ending_of(pid);
    bench_die(b, code, "--server %s: for %g s it has %s; is it a server?", name, 10 + load.timeout, what);
}

/* "was killed by signal 9". */
static const char *in_words(int status)
{
    static char text[64];
    if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "was killed by signal %d", WTERMSIG(status));
    else
        snprintf(text, sizeof text, "ended with code %d", WEXITSTATUS(status));
    return text;
}

/* What it says of itself. */
static void described(struct bench *b, char **with)
{
    static char text[65536];
    int ends[2], status;
    size_t n = 0;
    ssize_t some = 1;
    uint64_t left = patience();
    if (pipe2(ends, O_CLOEXEC) != 0)
        bench_die(b, BENCH_INTERNAL, "no pipe");
    pid_t pid = child(b, with, "--print-config", ends[1], 2);
    close(ends[1]);
    while (n < sizeof text - 1 && (some = reads(ends[0], text + n, sizeof text - 1 - n, &left)) > 0)
        n += (size_t)some;
    close(ends[0]);
    if (some < 0 || !has_ended(pid, &status, &left))
        takes_too_long(b, pid, BENCH_USAGE, with[0], "not said what it is (--print-config)");
    if (WIFEXITED(status) && status != 0) /* it has said why */
        exit(code_of(status));
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        n--;
    text[n] = '\0';
    if (n < 2 || text[0] != '{' || text[n - 1] != '}')
        bench_die(b, BENCH_USAGE,
                  "--server %s: it %s before it named a port or what it is (--print-config); is it a server?",
                  with[0], in_words(status));
    bench_binary(b, text);
}

/* At the end of the process, also where that is early. */
static void gone(void)
{
    if (server > 0 && !ended)
        kill(server, SIGTERM);
    quota_end();
}

/* The next line of what it writes. False: there is none; or there is no time left. */
static bool line_of(char *line, size_t room, uint64_t *left)
{
    size_t n = 0;
    while (n < room - 1 && reads(said, line + n, 1, left) == 1 && line[n++] != '\n')
        ;
    line[n] = '\0';
    return n > 0 && *left > 0;
}

/* A server that listens everywhere listens here, too. */
static bool everywhere(struct bench_address *a)
{
    if (a->any.sa_family == AF_INET && a->v4.sin_addr.s_addr == htonl(INADDR_ANY))
        a->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else if (a->any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr))
        a->v6.sin6_addr = in6addr_loopback;
    else
        return false;
    return true;
}

/* Whom to ask: where the name has several addresses the first that takes a connection, or the last. */
static void target(struct bench *b, const char *option, const char *host, int port)
{
    static char numeric[BENCH_HOST_TEXT];
    struct bench_addresses found;
    bench_resolve(b, option, host, port, &found);
    for (int i = 0, fd = -1; i < found.n && fd < 0; i++) {
        load.to = found.all[i];
        host = everywhere(&load.to) ? numeric : host;
        if (found.n > 1 && (fd = connection_open(0, true)) >= 0)
            close(fd);
    }
    bench_set_text(b, "host", bench_address_host(&load.to, numeric));
    bench_set_int(b, "port", port);
    snprintf(load.host, sizeof load.host, strchr(host, ':') != NULL ? "[%.*s]" : "%.*s", (int)strcspn(host, "%"),
             host);
}

/* Does it say where it listens? */
static bool says_where(struct bench *b, char *line)
{
    static const char mark[] = "listening at ";
    char *host = strstr(line, mark), *colon = host != NULL ? strrchr(host, ':') : NULL;
    int port = colon != NULL ? atoi(colon + 1) : 0;
    if (port < 1 || port > 65535)
        return false;
    host += sizeof mark - 1;
    *colon = '\0';
    if (host[0] == '[' && colon[-1] == ']') {
        host++;
        colon[-1] = '\0';
    }
    target(b, "server", host, port);
    return true;
}

void server_start(struct bench *b)
{
    char *with[WORDS], line[512];
    int ends[2], status, nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    uint64_t left = patience();
    if (bench_text(b, "server") == NULL) {
        bench_binary_peer(b, "loadgen", "", "\"differs\": \"a server that was there already\"");
        target(b, "host", bench_text(b, "host"), (int)bench_int(b, "port"));
        return;
    }
    words(b, with);
    described(b, with);
    if (bench_text(b, "quota") != NULL)
        quota_make(b, bench_real(b, "quota"));
    if (nowhere < 0 || pipe2(ends, O_CLOEXEC) != 0)
        bench_die(b, BENCH_INTERNAL, "no pipe");
    atexit(gone);
    if (bench_int(b, "calls"))
        calls_prepare();
    server = child(b, with, "--json", nowhere, ends[1]);
    if (bench_int(b, "calls"))
        calls_attach(server);
    close(ends[1]);
    close(nowhere);
    said = ends[0];
    while (line_of(line, sizeof line, &left)) {
        if (says_where(b, line))
            return;
        fputs(line, stderr);
    }
    pid_t pid = server;
    server = -1;
    if (left == 0 || !has_ended(pid, &status, &left))
        takes_too_long(b, pid, BENCH_INTERNAL, with[0], "not named a port (\"listening at 127.0.0.1:PORT\")");
    bench_die(b, status != 0 ? code_of(status) : BENCH_INTERNAL, "the server %s %s before it named a port", with[0],
              in_words(status));
}

/* ---- what it costs ---- */

static double cpu_of(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double memory_of(pid_t pid)
{
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (f != NULL)
        fclose(f);
    return (double)kib;
}

uint64_t server_cpu(void)
{
    return server < 0 ? 0 : (uint64_t)over_all(server, cpu_of);
}

double server_memory(void)
{
    return server < 0 ? 0 : over_all(server, memory_of);
}

/* ---- how it ends ---- */

/* What it writes is passed on until it has ended, or for so long. */
static bool ends_within(double seconds)
{
    char text[4096];
    uint64_t until = bench_now() + (uint64_t)(seconds * 1e9);
    do {
        struct pollfd from = {.fd = said, .events = POLLIN};
        ended = ended || waitpid(server, &how, WNOHANG) == server;
        while (poll(&from, 1, ended ? 0 : 10) > 0) { /* what is written before the end is there then */
            ssize_t n = read(said, text, sizeof text);
            if (n > 0)
                fwrite(text, 1, (size_t)n, stderr);
            else {
                close(said);
                said = from.fd = -1; /* of which poll hears nothing */
            }
        }
    } while (!ended && bench_now() < until);
    return ended;
}

bool server_lost(struct bench *b, double seconds)
{
    if (server < 0 || !ends_within(seconds))
        return false;
    if (load.rep < 0)
        bench_invalid(b, "the server %s before the first repetition", in_words(how));
    else
        bench_invalid(b, "the server %s in repetition %d of %d", in_words(how), load.rep + 1, bench_reps(b));
    return true;
}

bool server_end(struct bench *b)
{
    double patience = 10 + load.timeout;
    if (server < 0)
        return true;
    bool itself = ended;
    if (!ended)
        kill(server, SIGTERM);
    if (!ends_within(patience)) {
        fprintf(stderr, "loadgen: the server has not ended %g s after SIGTERM, and is killed\n", patience);
        bench_invalid(b, "the server has not ended %g s after SIGTERM, and was killed", patience);
        over_all(server, kills);
        how = ending_of(server);
    } else if (how != 0 && !itself)
        bench_invalid(b, "the server %s", in_words(how));
    server = -1;
    quota_end();
    return how == 0;
}
