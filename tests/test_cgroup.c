/* SPDX-License-Identifier: MIT
 *
 * Processor time of a control group, in trees of files as the kernel's two versions have them.
 */
#include "harness.h"

#include "bench_cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[] = "/tmp/tenter-cgroup-XXXXXX";

/* A file below the root, with the folders to it. */
static void file(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *f = fopen(path, "w");
    if (CHECK(f != NULL)) {
        fputs(text, f);
        fclose(f);
    }
}

static uint64_t read_as(const char *self)
{
    char path[512];
    file("self", self);
    snprintf(path, sizeof path, "%s/self", root);
    return bench_cgroup_ns(path, root);
}

static void test_both_versions(void)
{
    CHECK_EQUAL(bench_cgroup_ns("/no such file", root), 0);
    CHECK_EQUAL(read_as("0::/user/me\n"), 0); /* nothing is mounted */
    file("user/me/cpu.stat", "nr_periods 7\nusage_usec 1234567\nuser_usec 1\n");
    CHECK_EQUAL(read_as("0::/user/me\n"), UINT64_C(1234567000));
    CHECK_EQUAL(read_as("1:name=systemd:/\n0::/user/other\n"), 0);
    file("cpu.stat", "usage_usec 9\n");
    CHECK_EQUAL(read_as("0::/user/other\n"), 9000); /* the outside's path: what is mounted is the group */
    file("unified/here/cpu.stat", "usage_usec 5\n");
    file("cpu.stat", "");
    CHECK_EQUAL(read_as("0::/here\n"), 5000);
    file("cpu,cpuacct/here/cpuacct.usage", "42\n");
    CHECK_EQUAL(read_as("3:cpuset:/\n2:cpu,cpuacct:/here\n0::/here\n"), 42); /* a mixed one: the first version */
    CHECK_EQUAL(read_as("2:cpuacctx:/here\n"), 0);
}

int main(void)
{
    static const struct test all[] = {{"both versions", test_both_versions}};
    char command[64];
    if (mkdtemp(root) == NULL)
        return 99;
    int rc = HARNESS_RUN("cgroup", all);
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command) != 0 ? 99 : rc;
}
