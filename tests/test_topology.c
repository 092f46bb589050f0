/* SPDX-License-Identifier: MIT
 *
 * How far apart processors are: what a written tree of /sys says, what hwloc says of a machine that is made up, and nobody.
 */
#include "harness.h"

#define tn_processor_distance probe_distance
#include "platform_linux/topology.c"
#undef tn_processor_distance

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { CPUS = 8 };
int __real_tn_processor_distance(unsigned a, unsigned b);

static void put(const char *root, unsigned cpu, const char *file, const char *text)
{
    char path[512], *slash;
    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%u/%s", root, cpu, file);
    for (slash = path + strlen(root); (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    FILE *f = fopen(path, "w");
    if (CHECK(f != NULL)) {
        fputs(text, f);
        fclose(f);
    }
}

static void check_row(const struct topology *t, unsigned i, const uint8_t *wanted)
{
    for (unsigned j = 0; j < t->n; j++)
        CHECK_EQUAL(t->distance[i * t->n + j], wanted[j]);
}

/* Two sockets, each with two caches of the third level for two cores; processors n and n + 4 are one core's. */
static void test_sys(void)
{
    char root[] = "/tmp/tenter-topology-XXXXXX", command[64];
    unsigned cpus[CPUS] = {0, 1, 2, 3, 4, 5, 6, 7};
    uint8_t distance[CPUS * CPUS];
    struct topology t = {CPUS, cpus, distance};
    if (!CHECK(mkdtemp(root) != NULL))
        return;
    CHECK(!from_sys(root, &t)); /* there is nothing: nobody knows */
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        char text[32];
        unsigned core = cpu % 4;
        snprintf(text, sizeof text, "%u,%u\n", core, core + 4);
        put(root, cpu, parts[0], text);
        put(root, cpu, parts[1], text);
        if (core < 2) /* the others have no such cache */
            put(root, cpu, parts[2], "0-1,4-5\n");
        put(root, cpu, parts[4], core < 2 ? "0-1,4-5\n" : "2-3,6-7\n");
    }
    CHECK(from_sys(root, &t));
    check_row(&t, 0, (const uint8_t[]){0, 3, 6, 6, 1, 3, 6, 6});
    check_row(&t, 6, (const uint8_t[]){6, 6, 1, 5, 6, 6, 0, 5});
    unsigned some[] = {5, 1}; /* what this process may use */
    struct topology two = {2, some, distance};
    CHECK(from_sys(root, &two));
    check_row(&two, 0, (const uint8_t[]){0, 1});
    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK_EQUAL(system(command), 0);
}

static void test_hwloc(void)
{
    unsigned cpus[CPUS] = {0, 1, 2, 3, 4, 5, 6, 7};
    uint8_t distance[CPUS * CPUS];
    struct topology t = {CPUS, cpus, distance};
    setenv("HWLOC_SYNTHETIC", "package:2 l3:1 core:2 pu:2", 1);
    bool there = from_hwloc(HWLOC_LIBRARY, &t) == 0;
    CHECK_EQUAL(from_hwloc("libhwloc.so.none", &t), ENOTSUP);
    CHECK_EQUAL(from_hwloc("libc.so.6", &t), ENOTSUP); /* a library without these functions */
    unsigned other[] = {0, 99};                        /* a processor that it does not know of */
    struct topology two = {2, other, distance + CPUS};
    CHECK_EQUAL(from_hwloc(HWLOC_LIBRARY, &two), ENOTSUP);
    unsetenv("HWLOC_SYNTHETIC");
    if (!there)
        SKIP("no hwloc here");
    CHECK_EQUAL(distance[0], 0);
    CHECK(distance[1] > 0 && distance[2] > distance[1] && distance[4] > distance[2]);
    CHECK_EQUAL(distance[4], distance[7]);
    CHECK_EQUAL(distance[3], distance[2]);
}

/* Of this machine: nothing is nearer than oneself, whoever says it. */
static void test_here(void)
{
    int self = probe_distance(0, 0), other = probe_distance(0, 1);
    CHECK(self == 0 || self == -ENOTSUP);
    CHECK((other < 0) == (self < 0));
    CHECK_EQUAL(probe_distance(tn_processors(), 1), other);
    CHECK_EQUAL(__real_tn_processor_distance(0, 1), other);
}

/* Where nobody knows, as the link says here, the module that asks does not start, and says why. */
static bool nobody;
int __wrap_tn_processor_distance(unsigned a, unsigned b);
int __wrap_tn_processor_distance(unsigned a, unsigned b)
{
    return nobody ? -ENOTSUP : __real_tn_processor_distance(a, b);
}

static int start(void *spec)
{
    struct tn_config c = with(2, spec);
    tn_runtime *rt;
    int rc = tn_start(&rt, &c);
    if (rc == 0)
        tn_stop(rt);
    return rc;
}

static void test_nobody(void)
{
    char err[512];
    if (!build_has("schedulers=fifo"))
        SKIP("no fifo in this build");
    nobody = true;
    int status = harness_child(start, "fifo:victims=topology", err, sizeof err);
    CHECK(exited(status, ENOTSUP));
    CHECK(strstr(err, "neither hwloc nor /sys says how far apart") != NULL);
    CHECK(strchr(err, '\n') != NULL && strchr(err, '\n')[1] == '\0');
    CHECK(exited(harness_child(start, "fifo:victims=nearest", err, sizeof err), 0));
    nobody = false;
    CHECK(probe_distance(0, 0) == -1 || exited(harness_child(start, "fifo:victims=topology", err, sizeof err), 0));
}

int main(void)
{
    static const struct test tests[] = {
        {"/sys", test_sys},
        {"hwloc", test_hwloc},
        {"this machine", test_here},
        {"nobody knows", test_nobody},
    };
    return HARNESS_RUN("topology", tests);
}
