/* SPDX-License-Identifier: MIT
 *
 * The server's system calls, counted by the kernel: the tracepoint at their entry, in all threads and children of the server. That
 * makes each of them slower, on the whole machine: who counts them measures nothing else.
 */
#include "loadgen.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing"
#define ENTRY   "/events/raw_syscalls/sys_enter/id"

static int counter = -1, go[2] = {-1, -1};

/* 0: there is none. */
static int id_at(const char *path)
{
    int id = 0;
    FILE *f = fopen(path, "re");
    if (f != NULL && fscanf(f, "%d", &id) != 1)
        id = 0;
    if (f != NULL)
        fclose(f);
    return id;
}

/* Where nobody has mounted it: by a child of ours, for itself alone. */
static int id_by_child(void)
{
    int ends[2], id = 0;
    pid_t pid = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid < 0)
        return 0;
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
            mount("tracefs", TRACING, "tracefs", 0, NULL) == 0)
            id = id_at(TRACING ENTRY);
        _exit(write(ends[1], &id, sizeof id) != sizeof id);
    }
    close(ends[1]);
    if (read(ends[0], &id, sizeof id) != sizeof id)
        id = 0;
    close(ends[0]);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return id;
}

void calls_prepare(void)
{
    if (pipe2(go, O_CLOEXEC) != 0)
        bench_die(load.b, BENCH_INTERNAL, "no pipe");
}

void calls_await(void)
{
    char any;
    if (go[0] >= 0) {
        close(go[1]);
        (void)!read(go[0], &any, 1); /* its end, when that has been closed */
    }
}

void calls_attach(pid_t pid)
{
    int id = id_at(TRACING ENTRY);
    id = id != 0 ? id : id_at("/sys/kernel/debug/tracing" ENTRY);
    id = id != 0 ? id : id_by_child();
    struct perf_event_attr attr = {
        .type = PERF_TYPE_TRACEPOINT, .size = sizeof attr, .config = (unsigned)id, .inherit = 1};
    if (id != 0)
        counter = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (counter < 0)
        bench_unavailable(load.b, "calls",
                          id != 0          ? "the kernel lets nobody count them"
                          : geteuid() != 0 ? "the kernel shows its tracepoints to root alone"
                                           : "the kernel shows no tracepoint of system calls");
    close(go[0]);
    close(go[1]);
    go[0] = go[1] = -1;
}

bool server_calls(uint64_t *n)
{
    return counter >= 0 && read(counter, n, sizeof *n) == sizeof *n;
}
