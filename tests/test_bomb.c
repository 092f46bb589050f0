/* SPDX-License-Identifier: MIT
 *
 * Fibres that spawn for as long as they are let, in an address space that is soon used up, while workers come and go: under
 * each module that is named, each spawn is answered, and nobody who was spawned is lost; afterwards there is room again.
 */
#include "harness.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { ROOM = 96 << 20, STACK = 16384, REFUSALS = 200, SLOTS = 6, NAP_US = 200 };

static int n_specs;
static char **specs;

static atomic_long spawned, ended, refused, wrong;

static bool spawn_one(tn_runtime *rt, void *(*fn)(void *))
{
    atomic_fetch_add(&spawned, 1); /* before it can end */
    int rc = tn_spawn(NULL, &(struct tn_attr){.runtime = rt, .detached = true}, fn, NULL);
    if (rc == 0)
        return true;
    atomic_fetch_sub(&spawned, 1);
    atomic_fetch_add(&refused, 1);
    atomic_fetch_add(&wrong, rc != EAGAIN && rc != ENOMEM);
    return false;
}

/* Nobody ends before the last place is taken. */
static void *bomb(void *arg)
{
    while (atomic_load(&refused) < REFUSALS) {
        spawn_one(NULL, bomb);
        tn_yield();
    }
    atomic_fetch_add(&ended, 1);
    return arg;
}

static void *nothing(void *arg)
{
    return arg;
}

static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%lu", &pages) != 1)
        pages = 0;
    if (f != NULL)
        fclose(f);
    return pages * 4096;
}

static void others_come_and_go(tn_cluster *cl, uint64_t *random)
{
    unsigned now = tn_workers(cl), next = 1 + (unsigned)(harness_random(random) % SLOTS);
    int rc = next > now ? tn_workers_add(cl, next - now) : next < now ? tn_workers_remove(cl, now - next) : 0;
    atomic_fetch_add(&wrong, rc != 0 && rc != EAGAIN && rc != ENOMEM);
    nap_us(NAP_US);
}

static int explode(void *spec)
{
    struct tn_config c = TN_CONFIG_INIT;
    struct rlimit limit;
    uint64_t random = harness_seed();
    tn_runtime *rt;
    tn_fibre *f;
    c.workers = 2;
    c.slots = SLOTS;
    c.scheduler = spec;
    c.stack = STACK;
    int rc = tn_start(&rt, &c);
    if (rc != 0)
        return rc == EINVAL ? 2 : 3;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = address_space() + ROOM;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 4;
    spawn_one(rt, bomb);
    while (atomic_load(&ended) < atomic_load(&spawned) || atomic_load(&refused) < REFUSALS)
        others_come_and_go(tn_cluster_first(rt), &random);
    for (int i = 0; i < 10; i++)
        if (tn_spawn(&f, &(struct tn_attr){.runtime = rt}, nothing, NULL) != 0 || tn_join(f, NULL) != 0)
            return 5;
    fprintf(stderr, "%ld fibres", atomic_load(&ended));
    return tn_stop(rt) != 0 || atomic_load(&wrong) != 0 ? 6 : 0;
}

static void test_bomb(void)
{
    int there = 0;
    for (int i = 0; i < n_specs; i++) {
        char err[1024];
        int status = harness_child(explode, specs[i], err, sizeof err);
        if (exited(status, 2) && strstr(err, "no scheduler") != NULL)
            continue; /* not in this build */
        there++;
        if (!CHECK(exited(status, 0)))
            harness_note("%s: status %#x: %s", specs[i], (unsigned)status, err);
    }
    CHECK(there > 0);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {{"no more room, workers come and go", test_bomb}};
    n_specs = argc - 1;
    specs = argv + 1;
    return HARNESS_RUN("bomb", tests);
}
