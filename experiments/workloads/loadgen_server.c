/* SPDX-License-Identifier: MIT
 *
 * The server under load: started, measured and ended. It says its port on standard error ("listening at 127.0.0.1:PORT"), what
 * it is for --print-config, and ends at SIGTERM.
 */
#include "loadgen.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
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
static FILE *said;

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
    return WIFEXITED(status) ? WEXITSTATUS(status) : BENCH_INTERNAL;
}

/* What it says of itself. */
static void described(struct bench *b, char **with)
{
    static char text[65536];
    int ends[2];
    size_t n = 0;
    ssize_t some;
    if (pipe2(ends, O_CLOEXEC) != 0)
        bench_die(b, BENCH_INTERNAL, "no pipe");
    pid_t pid = child(b, with, "--print-config", ends[1], 2);
    close(ends[1]);
    while (n < sizeof text - 1 && (some = read(ends[0], text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)some;
    close(ends[0]);
    int code = ending_of(pid);
    if (code != 0) /* it has said why */
        exit(code);
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        n--;
    text[n] = '\0';
    bench_binary(b, text);
}

/* At the end of the process, also where that is early. */
static void gone(void)
{
    if (server > 0)
        kill(server, SIGTERM);
    quota_end();
}

int server_start(struct bench *b)
{
    static const char mark[] = "listening at 127.0.0.1:";
    char *with[WORDS], line[512];
    int ends[2], nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (bench_text(b, "server") == NULL) {
        bench_binary_peer(b, "loadgen", "", "\"differs\": \"a server that was there already\"");
        return (int)bench_int(b, "port");
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
    said = fdopen(ends[0], "r");
    while (said != NULL && fgets(line, sizeof line, said) != NULL) {
        const char *at = strstr(line, mark);
        if (at != NULL)
            return atoi(at + sizeof mark - 1);
        fputs(line, stderr);
    }
    int code = ending_of(server);
    server = -1;
    bench_die(b, code != 0 ? code : BENCH_INTERNAL, "the server %s has ended without listening", with[0]);
}

/* ---- what it costs ---- */

/* Calls what(pid) for it and all its children. */
static double over_all(pid_t pid, double (*what)(pid_t))
{
    char path[64];
    double sum = what(pid);
    int other;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "r");
    while (f != NULL && fscanf(f, "%d", &other) == 1)
        sum += over_all(other, what);
    if (f != NULL)
        fclose(f);
    return sum;
}

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

bool server_end(struct bench *b)
{
    char line[512];
    if (server < 0)
        return true;
    kill(server, SIGTERM);
    while (fgets(line, sizeof line, said) != NULL)
        fputs(line, stderr);
    fclose(said);
    int code = ending_of(server);
    server = -1;
    quota_end();
    if (code != 0)
        bench_invalid(b, "the server has ended with %d", code);
    return code == 0;
}
