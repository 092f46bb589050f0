/* SPDX-License-Identifier: MIT
 *
 * Processor time; see bench_cpu.h.
 */
#include "bench_cpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The number behind `key` ("": the first) in root/below/path/file; in a container the path may be that of the outside, and the
 * group is then what is mounted. 0: not there. */
static uint64_t number_in(const char *root, const char *below, const char *path, const char *file, const char *key)
{
    for (int outside = 0; outside < 2; outside++) {
        char name[1024], line[256];
        uint64_t value = 0;
        size_t n = strlen(key);
        snprintf(name, sizeof name, "%s/%s%s/%s", root, below, outside ? "" : path, file);
        FILE *f = fopen(name, "re");
        while (f != NULL && value == 0 && fgets(line, sizeof line, f) != NULL)
            if (strncmp(line, key, n) != 0 || sscanf(line + n, "%" SCNu64, &value) != 1)
                value = 0;
        if (f != NULL)
            fclose(f);
        if (value != 0)
            return value;
    }
    return 0;
}

static bool names(const char *list, const char *controller)
{
    size_t n = strlen(controller);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, controller, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

uint64_t bench_cgroup_ns(const char *self, const char *root)
{
    char line[1024];
    uint64_t first = 0, second = 0;
    FILE *f = fopen(self, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) { /* number:controllers:path */
        char *list = strchr(line, ':'), *path = list != NULL ? strchr(list + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        if (names(++list, "cpuacct"))
            first = number_in(root, list, path, "cpuacct.usage", "");
        if (*list == '\0')
            for (int mixed = 0; mixed < 2 && second == 0; mixed++)
                second = number_in(root, mixed ? "unified" : "", path, "cpu.stat", "usage_usec ") * 1000;
    }
    if (f != NULL)
        fclose(f);
    return first != 0 ? first : second;
}

uint64_t bench_cpu(const struct bench *b)
{
    struct timespec t;
    if (bench_int(b, "cpu-by") == 0) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    }
#if defined(TENTER_SIMULATED)
    uint64_t ns = 0;
#else
    uint64_t ns = bench_cgroup_ns("/proc/self/cgroup", "/sys/fs/cgroup");
#endif
    if (ns == 0)
        bench_die(b, BENCH_UNSUPPORTED,
                  "--cpu-by cgroup: no cpuacct.usage and no cpu.stat of a control group is to be read");
    return ns;
}
