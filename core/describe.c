/* SPDX-License-Identifier: MIT
 *
 * What this build is, and how a cluster is set, as JSON; counters by name.
 */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "tn_build.h"

const struct tn_counter_row core_counters[COUNT_CORE] = {
    [COUNT_SWITCH] = {"switch", "fibres switched to"},
    [COUNT_SPAWN] = {"spawn", "fibres spawned by fibres"},
    [COUNT_EXIT] = {"exit", "fibres ended"},
    [COUNT_YIELD] = {"yield", "soft yields"},
    [COUNT_YIELD_HARD] = {"yield_hard", "hard yields"},
    [COUNT_YIELD_NULL] = {"yield_null", "yields that found nothing else to run"},
    [COUNT_WAIT] = {"wait", "waits that suspended their fibre"},
    [COUNT_WAKE] = {"wake", "wake-ups that decided a wait"},
    [COUNT_MIGRATE] = {"migrate", "fibres that left for another cluster"},
    [COUNT_REFUSED] = {"refused", "spawns that the module refused"},
    [COUNT_STEAL_TRY] = {"steal_try", "victims tried"},
    [COUNT_STEAL_HIT] = {"steal_hit", "victims that something was taken from"},
    [COUNT_STOLEN] = {"stolen", "fibres taken from victims"},
    [COUNT_ANNOUNCE] = {"announce", "times that a worker announced to sleep, and looked once more"},
    [COUNT_PARK] = {"park", "times that a worker slept without a deadline"},
    [COUNT_UNPARK] = {"unpark", "workers woken"},
    [COUNT_WATCH] = {"watch", "times that a worker slept with a deadline"},
    [COUNT_TIMER] = {"timer", "timers that ran out"},
    [COUNT_POLL] = {"poll", "polls that found something"},
    [COUNT_STACK_REFILL] = {"stack_refill", "times that a worker's cache of stacks was empty"},
    [COUNT_BLOCKING] = {"blocking", "calls handed to the pool of threads"},
    [COUNT_POOL_THREAD] = {"pool_thread", "threads made for that pool"},
    [COUNT_REPLACED] = {"replaced", "workers that the monitor added for stuck ones"},
#if TN_PREEMPTION
    [COUNT_PREEMPT] = {"preempt", "fibres that the processor was taken from"},
#endif
};

TN_API size_t tn_counters(const tn_cluster *cluster, struct tn_counter out[TN_COUNTERS_MAX])
{
    struct cluster *cl = (struct cluster *)(uintptr_t)cluster;
    size_t n = TN_OBSERVE ? COUNT_CORE + cl->sched->n_counters : 0;
    uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_acquire); /* U0 acquire */
    for (size_t i = 0; i < n; i++) {
        const struct tn_counter_row *row = i < COUNT_CORE ? &core_counters[i] : &cl->sched->counters[i - COUNT_CORE];
        uint64_t sum =
            i < COUNT_CORE ? atomic_load_explicit((_Atomic(uint64_t) *)&cl->counts[i], memory_order_relaxed) : 0;
        for (uint32_t k = 0; k < used; k++)
            sum += atomic_load_explicit((_Atomic(uint64_t) *)&worker_of(cl->pub.workers[k])->counts[i],
                                        memory_order_relaxed); /* relaxed: no snapshot is promised */
        out[i] = (struct tn_counter){row->name, row->help, sum};
    }
    return n;
}

/* ---- JSON, as snprintf writes: what does not fit is counted ---- */

struct out {
    char *buffer;
    size_t size, length;
};

static __attribute__((format(printf, 2, 3))) void put(struct out *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = o->length < o->size ? o->size - o->length : 0;
    int n = vsnprintf(room != 0 ? o->buffer + o->length : NULL, room, format, args);
    va_end(args);
    o->length += n > 0 ? (size_t)n : 0;
}

static void put_string(struct out *o, const char *s)
{
    put(o, "\"");
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            put(o, "\\%c", *s);
        else if ((unsigned char)*s < ' ')
            put(o, "\\u%04x", (unsigned char)*s);
        else
            put(o, "%c", *s);
    }
    put(o, "\"");
}

static void put_pair(struct out *o, const char *before, const char *key, const char *value)
{
    put(o, "%s\"%s\":", before, key);
    put_string(o, value);
}

/* A value as a user writes it: a choice by its name. */
static void put_value(struct out *o, const struct tn_knob *row, int64_t value)
{
    if (row->choices == NULL) {
        put(o, "%lld", (long long)value);
        return;
    }
    const char *c = row->choices;
    for (int64_t i = 0; i < value; i++)
        c += strcspn(c, "|") + 1;
    put(o, "\"%.*s\"", (int)strcspn(c, "|"), c);
}

static void put_knobs(struct out *o, const struct tn_knob *row, size_t n)
{
    put(o, ",\"knobs\":[");
    for (size_t i = 0; i < n; i++) {
        put_pair(o, i != 0 ? ",{" : "{", "name", row[i].name);
        put_pair(o, ",", "type", row[i].choices != NULL ? "choice" : "integer");
        if (row[i].choices != NULL)
            put_pair(o, ",", "range", row[i].choices);
        else
            put(o, ",\"range\":[%lld,%lld]", (long long)row[i].low, (long long)row[i].high);
        put(o, ",\"default\":");
        put_value(o, &row[i], row[i].initial);
        put(o, ",\"fixed\":%s", row[i].fixed != TN_NOT_FIXED ? "true" : "false");
        put_pair(o, ",", "unit", row[i].unit);
        put_pair(o, ",", "help", row[i].help);
        put_pair(o, ",", "from", row[i].from);
        put(o, "}");
    }
    put(o, "]");
}

static const char *idle_name(int64_t mode)
{
    return mode == TN_IDLE_BLOCK ? "block" : mode == TN_IDLE_SPIN ? "spin" : "spin-block";
}

static void put_presets(struct out *o)
{
    put(o, ",\"presets\":[");
    for (size_t i = 0; i < n_config_presets; i++) {
        put_pair(o, i != 0 ? ",{" : "{", "name", config_presets[i].name);
        put_pair(o, ",", "stands_for", config_presets[i].stands_for);
        put_pair(o, ",", "idle", idle_name(config_presets[i].idle));
        put(o, "}");
    }
    put(o, "]");
}

static void put_counters(struct out *o, const struct tn_counter_row *row, size_t n)
{
    put(o, ",\"counters\":[");
    for (size_t i = 0; i < n; i++) {
        put_pair(o, i != 0 ? ",{" : "{", "name", row[i].name);
        put_pair(o, ",", "help", row[i].help);
        put(o, "}");
    }
    put(o, "]");
}

/* What all workloads and results call this binary. */
static void put_build(struct out *o)
{
    put_pair(o, "", "version", TN_BUILD_VERSION);
    put_pair(o, ",", "runtime", TN_RUNTIME_NAME);
    put_pair(o, ",", "binding", binding_kind);
    put_pair(o, ",", "context", tn_context_name);
    put_pair(o, ",", "stacks", stacks_name);
    put_pair(o, ",", "guards", stacks_guards());
    put_pair(o, ",", "suspension",
             TN_SUSPENSION == TN_SUSPENSION_NEXT      ? "next"
             : TN_SUSPENSION == TN_SUSPENSION_UTILITY ? "utility"
                                                      : "lock");
    put_pair(o, ",", "dead", TN_DEAD == TN_DEAD_NEXT ? "next" : "utility");
    put_pair(o, ",", "timers", TN_TIMERS == TN_TIMERS_HEAP ? "heap" : "wheel");
    put_pair(o, ",", "observe", TN_OBSERVE ? "counters" : "off");
    put_pair(o, ",", "force_migration", TN_FORCE_MIGRATION ? "yes" : "no");
    put_pair(o, ",", "lock_check", TN_LOCK_CHECK ? "yes" : "no");
    put_pair(o, ",", "compiler", TN_BUILD_COMPILER);
    put_pair(o, ",", "build", TN_BUILD_OPTIONS);
}

TN_API size_t tn_describe(char *buffer, size_t size)
{
    struct out o = {buffer, size, 0};
    size_t n;
    const struct tn_scheduler *const *all = binding_all(&n);
    put(&o, "{");
    put_build(&o);
    put(&o, ",\"schedulers\":[");
    for (size_t i = 0; i < n; i++) {
        put_pair(&o, i != 0 ? ",{" : "{", "name", all[i]->name);
        put_pair(&o, ",", "summary", all[i]->summary);
        put_knobs(&o, all[i]->knobs, all[i]->n_knobs);
        put_counters(&o, all[i]->counters, all[i]->n_counters);
        put(&o, "}");
    }
    put(&o, "]");
    put_presets(&o);
    put(&o, ",\"pollers\":[{");
    put_pair(&o, "", "name", binding_poller->name);
    put_pair(&o, ",", "summary", binding_poller->summary);
    put_knobs(&o, binding_poller->knobs, binding_poller->n_knobs);
    put(&o, "}],\"core\":{");
    put_pair(&o, "", "name", "runtime");
    put_knobs(&o, config_knobs, n_config_knobs);
    put_counters(&o, core_counters, COUNT_CORE);
    put(&o, "}}");
    return o.length;
}

static void put_values(struct out *o, const struct tn_knob *row, size_t n, const int64_t *values)
{
    put(o, "{");
    for (size_t i = 0; i < n; i++) {
        put(o, "%s\"%s\":", i != 0 ? "," : "", row[i].name);
        put_value(o, &row[i], row[i].fixed != TN_NOT_FIXED ? row[i].fixed : values[i]);
    }
    put(o, "}");
}

TN_API size_t tn_describe_cluster(const tn_cluster *cluster, char *buffer, size_t size)
{
    struct cluster *cl = (struct cluster *)(uintptr_t)cluster;
    struct out o = {buffer, size, 0};
    put(&o, "{");
    put_build(&o);
    put_pair(&o, ",", "scheduler", cl->sched->name);
    put(&o, ",\"knobs\":");
    put_values(&o, cl->sched->knobs, cl->sched->n_knobs, cl->sched_knobs);
    put_pair(&o, ",", "poller", binding_poller->name);
    put(&o, ",\"poller_knobs\":");
    put_values(&o, binding_poller->knobs, binding_poller->n_knobs, cl->poller_knobs);
    if (binding_poller->by != NULL)
        put_pair(&o, ",", "poller_by", binding_poller->by(cl->poller));
    put(&o, ",\"stack\":%zu,\"pin\":%s,\"spin_us\":%lld,\"idle\":\"%s\"}", cl->rt->stacks.usable - cl->rt->stack_room,
        cl->pin ? "true" : "false", (long long)cl->spin_us, idle_name(cl->idle_mode));
    return o.length;
}
