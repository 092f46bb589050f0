/* SPDX-License-Identifier: MIT
 *
 * What Tenter's own benchmark programs share; see bench_tenter.h.
 */
#include "bench_tenter.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *spec_given(const struct bench *b)
{
    const char *spec = bench_text(b, "scheduler");
    return spec != NULL ? spec : getenv("TENTER_SCHEDULER");
}

bool bench_tenter_names(const struct bench *b, const char *knob)
{
    const char *spec = spec_given(b);
    size_t n = strlen(knob);
    for (const char *at = spec != NULL ? strchr(spec, ':') : NULL; at != NULL; at = strchr(at + 1, ':'))
        if (strncmp(at + 1, knob, n) == 0 && at[1 + n] == '=')
            return true;
    return false;
}

static char *describe(struct bench *b, const tn_cluster *cluster)
{
    size_t n = tn_describe_cluster(cluster, NULL, 0) + 1;
    char *text = malloc(n);
    if (text == NULL)
        bench_die(b, BENCH_INTERNAL, "no memory");
    tn_describe_cluster(cluster, text, n);
    return text;
}

bool bench_tenter_has(const struct bench *b, const char *knob)
{
    const char *spec = spec_given(b);
    char key[128], *at, *end;
    size_t n = tn_describe(NULL, 0) + 1;
    char *text = malloc(n);
    if (text == NULL)
        return false;
    tn_describe(text, n);
    /* "schedulers":[{"name":"fifo",…,"knobs":[…],"counters":…: a spec without a name means the first one */
    snprintf(key, sizeof key, "\"name\":\"%.*s", spec != NULL ? (int)strcspn(spec, ":") : 0,
             spec != NULL ? spec : "");
    at = strstr(text, "\"schedulers\":[");
    at = at != NULL ? strstr(at, key) : NULL;
    end = at != NULL ? strstr(at, "\"counters\":") : NULL;
    bool has = false; /* of a plug-in nothing is known: who wants its bound names it in the spec */
    if (end != NULL) {
        *end = '\0';
        snprintf(key, sizeof key, "\"name\":\"%s\"", knob);
        has = strstr(at, key) != NULL;
    }
    free(text);
    return has;
}

struct first {
    struct bench *b;
    void *(*fn)(void *);
    void *arg;
};

static void *first(void *arg)
{
    struct first *f = arg;
    char *text = describe(f->b, tn_cluster_self());
    bench_binary(f->b, text);
    free(text);
    return f->fn(f->arg);
}

void bench_tenter_run(struct bench *b, const char *knobs, void *(*fn)(void *), void *arg)
{
    char spec[512];
    struct tn_config config = TN_CONFIG_INIT;
    config.workers = bench_int(b, "workers");
    config.pin = bench_int(b, "pin");
    config.seed = bench_int(b, "seed") != 0 ? bench_int(b, "seed") : INT64_MAX; /* to Tenter 0 means any */
    config.scheduler = spec_given(b);
    if (bench_find(b, "idle") != NULL) {    /* BENCH_TENTER_IDLE */
        config.idle = bench_int(b, "idle"); /* in the order of TN_IDLE_* */
        config.spin_us = bench_int(b, "spin-us");
    }
    if (knobs[0] != '\0') {
        snprintf(spec, sizeof spec, "%s%s", config.scheduler != NULL ? config.scheduler : "", knobs);
        config.scheduler = spec;
    }
    struct first f = {b, fn, arg};
    int rc = tn_run(&config, first, &f, NULL);
    if (rc != 0)
        bench_die(b, rc == EINVAL ? BENCH_USAGE : BENCH_INTERNAL, "no runtime with %lld workers, scheduler %s: %s",
                  (long long)config.workers, config.scheduler != NULL ? config.scheduler : "of the build",
                  strerror(rc));
}

static struct tn_counter before[TN_COUNTERS_MAX];

void bench_tenter_counters_start(void)
{
    tn_counters(tn_cluster_self(), before);
}

void bench_tenter_counters_stop(struct bench *b)
{
    static struct tn_counter after[TN_COUNTERS_MAX];
    size_t n = tn_counters(tn_cluster_self(), after);
    for (size_t i = 0; i < n; i++)
        bench_count(b, after[i].name, (double)(after[i].value - before[i].value));
}

void bench_tenter_repeat(struct bench *b, void (*repetition)(int rep))
{
    for (int rep = 0; rep < bench_reps(b); rep++) {
        if (rep == (int)bench_int(b, "warmup"))
            bench_tenter_counters_start();
        repetition(rep);
    }
    bench_tenter_counters_stop(b);
}

struct outside {
    void (*generator)(void);
    tn_waiter caller;
};

static void *outside(void *arg)
{
    struct outside *o = arg;
    o->generator();
    tn_wake(o->caller);
    return NULL;
}

void bench_tenter_outside(struct bench *b, void (*generator)(void))
{
    pthread_t thread;
    bench_tenter_counters_start();
    struct outside o = {generator, tn_wait_prepare()};
    if (pthread_create(&thread, NULL, outside, &o) != 0)
        bench_die(b, BENCH_INTERNAL, "no thread for the load");
    tn_wait(TN_FOREVER, NULL);
    pthread_join(thread, NULL);
    bench_tenter_counters_stop(b);
}
