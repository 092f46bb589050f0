/* SPDX-License-Identifier: MIT
 *
 * A control group for the server, with so much of a processor: of version 1 where its controller `cpu` is mounted, else of version 2.
 */
#include "loadgen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PERIOD_US = 100000 };

static char folder[256];

/* Errno as it was, or 0. */
static int into(const char *group, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", group, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int error = fd < 0 || write(fd, text, strlen(text)) < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return error;
}

void quota_make(struct bench *b, double share)
{
    static const char first[] = "/sys/fs/cgroup/cpu", second[] = "/sys/fs/cgroup";
    char text[64];
    bool old = access("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", F_OK) == 0 ||
               access("/sys/fs/cgroup/cpu/cgroup.procs", F_OK) == 0;
    if (!old)
        into(second, "cgroup.subtree_control", "+cpu"); /* where it is not allowed cpu.max is missing */
    snprintf(folder, sizeof folder, "%s/tenter-%d", old ? first : second, (int)getpid());
    int error = mkdir(folder, 0755) != 0 ? errno : 0;
    if (error == 0 && old) {
        snprintf(text, sizeof text, "%d", PERIOD_US);
        error = into(folder, "cpu.cfs_period_us", text);
        snprintf(text, sizeof text, "%.0f", share * PERIOD_US);
        error = error != 0 ? error : into(folder, "cpu.cfs_quota_us", text);
    } else if (error == 0) {
        snprintf(text, sizeof text, "%.0f %d", share * PERIOD_US, PERIOD_US);
        error = into(folder, "cpu.max", text);
    }
    if (error != 0) {
        quota_end();
        bench_die(b, BENCH_UNSUPPORTED, "--quota: no control group of its own for the server: %s", strerror(error));
    }
}

bool quota_enter(void)
{
    return folder[0] == '\0' || into(folder, "cgroup.procs", "0") == 0;
}

void quota_end(void)
{
    for (int tries = 0; folder[0] != '\0' && rmdir(folder) != 0 && errno == EBUSY && tries < 100; tries++)
        usleep(10000); /* its processes are still on their way out */
    folder[0] = '\0';
}
