/* SPDX-License-Identifier: MIT
 *
 * The Linux platform: how far apart processors are. From hwloc where its library is installed (Debian: libhwloc15), which
 * knows more of old kernels and odd machines; else from /sys. Neither is needed to build or to run anything else.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../platform.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Distances of the processors cpu[0 … n) from each other, in rows. */
struct topology {
    unsigned n, *cpu;
    uint8_t *distance;
};

static void set(struct topology *t, unsigned i, unsigned j, unsigned distance)
{
    t->distance[i * t->n + j] = (uint8_t)(distance < UINT8_MAX ? distance : UINT8_MAX);
}

/* ---- hwloc ---- */

#define HWLOC_LIBRARY "libhwloc.so.15"
enum { HWLOC_MAJOR = 2 }; /* of its interface, which that library has */

/* The first fields of hwloc_obj, as every hwloc 2 has them. */
struct hwloc_object {
    int type;
    char *subtype;
    unsigned os_index;
    char *name;
    uint64_t total_memory;
    void *attributes;
    int depth;
    unsigned logical_index;
    struct hwloc_object *next_cousin, *prev_cousin, *parent;
};

/* How many levels above a the first object is that holds b as well. */
static unsigned apart(const struct hwloc_object *a, const struct hwloc_object *b)
{
    unsigned up = 0;
    while (a != b && a != NULL && b != NULL)
        if (a->depth >= b->depth) {
            up += 1;
            b = a->depth == b->depth ? b->parent : b;
            a = a->parent;
        } else {
            b = b->parent;
        }
    return up;
}

/* 0, ENOTSUP or ENOMEM. */
static int from_hwloc(const char *library, struct topology *t)
{
    void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL), *topology = NULL;
    if (lib == NULL)
        return ENOTSUP;
    unsigned (*version)(void);
    int (*init)(void **), (*load)(void *), (*depth)(void *);
    void (*destroy)(void *);
    unsigned (*count)(void *, int);
    struct hwloc_object *(*object)(void *, int, unsigned);
    *(void **)&version = dlsym(lib, "hwloc_get_api_version");
    *(void **)&init = dlsym(lib, "hwloc_topology_init");
    *(void **)&load = dlsym(lib, "hwloc_topology_load");
    *(void **)&depth = dlsym(lib, "hwloc_topology_get_depth");
    *(void **)&destroy = dlsym(lib, "hwloc_topology_destroy");
    *(void **)&count = dlsym(lib, "hwloc_get_nbobjs_by_depth");
    *(void **)&object = dlsym(lib, "hwloc_get_obj_by_depth");
    bool good = version != NULL && init != NULL && load != NULL && depth != NULL && destroy != NULL &&
                count != NULL && object != NULL && version() >> 16 == HWLOC_MAJOR && init(&topology) == 0;
    struct hwloc_object **at = calloc(t->n, sizeof *at);
    bool known = good && at != NULL && load(topology) == 0;
    int last = known ? depth(topology) - 1 : 0; /* that of hardware threads */
    for (unsigned i = 0; i < t->n && known; i++) {
        for (unsigned k = 0; k < count(topology, last) && at[i] == NULL; k++)
            if (object(topology, last, k)->os_index == t->cpu[i])
                at[i] = object(topology, last, k);
        known = at[i] != NULL;
    }
    for (unsigned i = 0; i < t->n && known; i++)
        for (unsigned j = 0; j < t->n; j++)
            set(t, i, j, apart(at[i], at[j]));
    int rc = known ? 0 : at == NULL ? ENOMEM : ENOTSUP;
    free(at);
    if (good)
        destroy(topology);
    dlclose(lib);
    return rc;
}

/* ---- /sys ---- */

/* The parts of a machine that hold a processor, from the inside out. An older kernel lacks some. */
static const char *const parts[] = {"topology/thread_siblings_list", "cache/index2/shared_cpu_list",
                                    "cache/index3/shared_cpu_list", "topology/die_cpus_list",
                                    "topology/core_siblings_list"};
enum { PARTS = sizeof parts / sizeof *parts };

/* Is `cpu` in a list as "0-3,8"? */
static bool listed(const char *list, unsigned cpu)
{
    unsigned from, to;
    int read = 0;
    for (const char *at = list; sscanf(at, "%u%n", &from, &read) == 1; at += *at == ',') {
        at += read;
        to = from;
        if (*at == '-' && sscanf(at + 1, "%u%n", &to, &read) == 1)
            at += 1 + read;
        if (cpu >= from && cpu <= to)
            return true;
    }
    return false;
}

static bool from_sys(const char *root, struct topology *t)
{
    for (unsigned i = 0; i < t->n; i++) {
        unsigned found = 0;
        for (unsigned j = 0; j < t->n; j++)
            set(t, i, j, t->cpu[i] == t->cpu[j] ? 0 : PARTS + 1);
        for (unsigned part = PARTS; part-- != 0;) {
            char path[256], list[4096];
            snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%u/%s", root, t->cpu[i], parts[part]);
            FILE *f = fopen(path, "re");
            if (f == NULL)
                continue;
            found += fgets(list, sizeof list, f) != NULL;
            fclose(f);
            for (unsigned j = 0; j < t->n; j++)
                if (j != i && listed(list, t->cpu[j]))
                    set(t, i, j, part + 1);
        }
        if (found == 0)
            return false;
    }
    return true;
}

/* ---- once for the process ---- */

static struct topology known;
static int answer = -1; /* 0: it is known; ENOTSUP: it cannot be; else nobody has looked with success */
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;

static int look(void)
{
    cpu_set_t allowed; /* as tn_pin() counts them */
    if (sched_getaffinity(getpid(), sizeof allowed, &allowed) != 0)
        return ENOTSUP;
    struct topology t = {.n = (unsigned)CPU_COUNT(&allowed)};
    t.cpu = calloc(t.n, sizeof *t.cpu);
    t.distance = calloc((size_t)t.n * t.n, sizeof *t.distance);
    for (unsigned cpu = 0, i = 0; cpu < CPU_SETSIZE && t.cpu != NULL; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            t.cpu[i++] = cpu;
    int rc = t.cpu != NULL && t.distance != NULL ? from_hwloc(HWLOC_LIBRARY, &t) : ENOMEM;
    if (rc == ENOTSUP && from_sys("/sys", &t))
        rc = 0;
    if (rc == 0) {
        known = t;
    } else {
        free(t.cpu);
        free(t.distance);
    }
    return rc;
}

int tn_processor_distance(unsigned a, unsigned b)
{
    pthread_mutex_lock(&looking);
    if (answer != 0 && answer != ENOTSUP)
        answer = look();
    int rc = answer;
    pthread_mutex_unlock(&looking);
    return rc == 0 ? known.distance[a % known.n * known.n + b % known.n] : -rc;
}
