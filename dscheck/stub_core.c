/* SPDX-License-Identifier: MIT */
/* See stub_core.h.  Included by a case, behind its module. */
#include "stub_core.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct tn_scheduler *stub_sched;
static struct tn_idle stub_idle;
static struct tn_worker *stub_workers[STUB_WORKERS];
static int64_t stub_knobs[STUB_KNOBS];

/* ---- what modules call ---- */

void *tn_sched_alloc(size_t bytes)
{
    size_t lines = (bytes + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
    void *memory = aligned_alloc(TN_CACHE_LINE, lines);
    assert(memory != NULL);
    return memset(memory, 0, lines);
}

void tn_sched_free(void *memory, size_t bytes)
{
    (void)bytes;
    free(memory);
}

void *tn_fibre_state(struct tn_fibre *f)
{
    return ((struct stub_fibre *)(void *)f)->state;
}

void **tn_fibre_word(struct tn_fibre *f)
{
    return &((struct stub_fibre *)(void *)f)->word;
}

void tn_message(const char *format, ...)
{
    (void)format;
    assert(!"a module has something to tell");
}

static inline void stub_wake(struct tn_idle_slot *which)
{
    uint32_t how;
    struct tn_idle_slot *s = tn_idle_take(&stub_idle, which, &how);
    if (s != NULL)
        tn_unpark(&s->word, 1);
}

enum { STUB_WATCH_NS = 60000, STUB_WATCH_MAX_NS = 2000000 };

static inline bool stub_watched(void)
{
    tn_time until = 0;
    return tn_idle_watcher(&stub_idle, &until) != NULL && until <= tn_now() + STUB_WATCH_MAX_NS;
}

static inline void stub_notify(int placed)
{
    if (tn_idle_wanted(&stub_idle, placed != TN_HELD && placed != TN_AWAITED) &&
        !(placed == TN_AWAITED && stub_watched()))
        stub_wake(placed <= TN_FOR(0) ? &stub_worker[TN_FOR_INDEX(placed)].slot : NULL);
}

struct tn_worker *tn_busy_after(struct tn_cluster *cl, struct tn_worker *w)
{
    (void)cl;
    struct tn_idle_slot *s = tn_idle_busy_after(&stub_idle, w != NULL ? &stub_worker[w->index].slot : NULL);
    return s != NULL ? &((struct stub_worker *)(void *)((char *)s - offsetof(struct stub_worker, slot)))->pub : NULL;
}

bool tn_worker_idle(struct tn_worker *w)
{
    tn_fence_light();
    /* relaxed: behind the fence */
    return atomic_load_explicit(&stub_worker[w->index].slot.word, memory_order_relaxed) != TN_SLOT_AWAKE;
}

int tn_distances(struct tn_worker *me, uint8_t *to)
{
    for (uint32_t i = 0; i < me->cluster->slots; i++)
        to[i] = (uint8_t)(i > me->index ? i - me->index : me->index - i);
    return 0;
}

void tn_notify(struct tn_cluster *cl)
{
    (void)cl;
    stub_notify(0);
}

/* ---- life ---- */

static inline int64_t stub_knob(const struct tn_knob *row, const struct stub_setting *settings)
{
    for (; settings != NULL && settings->knob != NULL; settings++)
        if (strcmp(settings->knob, row->name) == 0)
            return settings->value;
    return row->initial;
}

static inline void stub_init(const struct tn_scheduler *sched, unsigned n, const struct stub_setting *settings)
{
    stub_sched = sched;
    memset(&stub_cluster, 0, sizeof(stub_cluster));
    memset(&stub_idle, 0, sizeof(stub_idle));
    memset(stub_worker, 0, sizeof(stub_worker));
    memset(stub_fibre, 0, sizeof(stub_fibre));
    assert(n <= STUB_WORKERS && sched->n_knobs <= STUB_KNOBS && sched->fibre_size <= sizeof(stub_fibre[0].state));
    for (size_t i = 0; i < sched->n_knobs; i++)
        stub_knobs[i] = stub_knob(&sched->knobs[i], settings);
    stub_idle.hungry = &stub_cluster.hungry;
    stub_idle.n_busy = &stub_cluster.busy;
    stub_cluster.knobs = stub_knobs;
    stub_cluster.slots = n;
    stub_cluster.workers = stub_workers;
    stub_cluster.sched = sched->cluster_size != 0 ? tn_sched_alloc(sched->cluster_size) : NULL;
    int rc = sched->cluster_init != NULL ? sched->cluster_init(&stub_cluster) : 0;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        struct tn_worker *w = &stub_worker[i].pub;
        w->cluster = &stub_cluster;
        w->index = i;
        w->random = i;
        w->sched = sched->worker_size != 0 ? tn_sched_alloc(sched->worker_size) : NULL;
        stub_workers[i] = w;
        rc = sched->worker_init != NULL ? sched->worker_init(w) : 0;
        tn_idle_join(&stub_idle, &stub_worker[i].slot);
        if (sched->worker_join != NULL && rc == 0)
            sched->worker_join(w);
    }
    assert(rc == 0);
    atomic_init(&stub_cluster.used, n);
    for (size_t i = 0; i < STUB_FIBRES; i++)
        stub_fibre[i].pub.cluster = &stub_cluster;
}

static inline void stub_fini(void)
{
    struct tn_list left = {NULL, NULL, 0};
    struct tn_link *l;

    stub_sched->drain(&stub_cluster, &left);
    while ((l = tn_list_pop_front(&left)) != NULL) {
        struct stub_fibre *f = (struct stub_fibre *)(void *)tn_fibre_of(l);
        assert(f->ready); /* else it came out twice */
        f->ready = false;
        f->runs++;
    }
    for (size_t i = 0; i < STUB_FIBRES; i++)
        assert(!stub_fibre[i].ready && stub_fibre[i].runs == stub_fibre[i].made); /* else lost */
    for (uint32_t i = 0; i < stub_cluster.slots; i++) {
        if (stub_sched->worker_fini != NULL)
            stub_sched->worker_fini(&stub_worker[i].pub);
        free(stub_worker[i].pub.sched);
    }
    if (stub_sched->cluster_fini != NULL)
        stub_sched->cluster_fini(&stub_cluster);
    free(stub_cluster.sched);
}

/* ---- fibres ---- */

static inline void stub_ready(struct stub_worker *me, struct stub_fibre *f, enum tn_why why)
{
    assert(!f->ready);
    f->ready = true;
    f->made++;
    int placed = stub_sched->ready(me != NULL ? &me->pub : NULL, &f->pub, why);
    assert(placed == 0 || placed == TN_HELD || placed == TN_AWAITED || placed <= TN_FOR(0));
    stub_notify(placed);
}

static inline bool stub_spawn(struct stub_worker *me, struct stub_fibre *spawner, struct stub_fibre *f)
{
    assert(!f->ready && !spawner->ready);
    f->ready = true;
    f->made++;
    int placed = stub_sched->ready(&me->pub, &f->pub, TN_SPAWNED);
    if (placed == TN_RUN_NOW) {
        f->ready = false;
        f->runs++;
        stub_ready(me, spawner, TN_DISPLACED);
        return true;
    }
    if (placed == EAGAIN) {
        f->ready = false;
        f->made--;
        return false;
    }
    stub_notify(placed);
    return true;
}

static inline struct stub_fibre *stub_ran(struct stub_worker *me, struct tn_fibre *next)
{
    struct stub_fibre *f = (struct stub_fibre *)(void *)next;
    if (f == NULL)
        return NULL;
    assert(f->ready); /* else it came out twice */
    f->ready = false;
    f->runs++;
    f->pub.home = &me->pub;
    return f;
}

static inline struct stub_fibre *stub_next(struct stub_worker *me, bool hard)
{
    return stub_ran(me, stub_sched->next(&me->pub, hard));
}

static inline unsigned stub_steal(struct stub_worker *me, struct stub_worker *victim)
{
    return stub_sched->steal != NULL ? stub_sched->steal(&me->pub, &victim->pub) : 0;
}

/* ---- the worker's loop ---- */

static inline struct stub_worker *stub_victim(struct stub_worker *me, unsigned attempt)
{
    if (stub_sched->victim != NULL) {
        struct tn_worker *v = stub_sched->victim(&me->pub, attempt);
        return v != NULL ? &stub_worker[v->index] : NULL;
    }
    uint32_t used = atomic_load_explicit(&stub_cluster.used, memory_order_acquire); /* U0 acquire */
    return attempt + 1 < used ? &stub_worker[(me->pub.index + attempt + 1) % used] : NULL;
}

/* Sooner than in the core, so that executions are the shorter. */
enum { STUB_LOOK_UP = 8 };

static inline struct stub_fibre *stub_yield(struct stub_worker *me, struct stub_fibre *f)
{
    bool fair = ++me->ticks % STUB_LOOK_UP == 0;
    struct stub_worker *victim;
    for (unsigned attempt = 0; fair && (victim = stub_victim(me, attempt)) != NULL; attempt++)
        if (stub_steal(me, victim) != 0)
            break; /* steal_in_passing() */
    struct tn_fibre *to = !fair && stub_sched->pass != NULL ? stub_sched->pass(&me->pub, &f->pub) : NULL;
    if (to != NULL) {
        struct stub_fibre *passed_to = stub_ran(me, to);
        assert(!f->ready);
        f->ready = true; /* whoever gets at it before takes one that is not ready */
        f->made++;
        stub_sched->passed(&me->pub);
        return passed_to;
    }
    struct tn_fibre *(*next)(struct tn_worker *, bool) =
        stub_sched->next_of_yield != NULL ? stub_sched->next_of_yield : stub_sched->next;
    struct stub_fibre *other = stub_ran(me, next(&me->pub, fair));
    if (other == NULL)
        return f;
    stub_ready(me, f, TN_YIELDED);
    return other;
}

static inline struct stub_fibre *stub_search(struct stub_worker *me)
{
    if (!me->searching) {
        me->searching = true;
        tn_idle_search_begin(&stub_idle);
    }
    struct stub_worker *victim;
    struct stub_fibre *f;
    for (unsigned attempt = 0; (victim = stub_victim(me, attempt)) != NULL; attempt++)
        if (stub_steal(me, victim) != 0 && (f = stub_next(me, false)) != NULL)
            return f;
    return stub_next(me, false);
}

/* The earliest timer. STUB_FAR never runs out, but somebody must watch it. */
static const tn_time STUB_FAR = UINT64_C(1) << 60;
static tn_time stub_earliest = UINT64_MAX;

/* Announced: sleep, or look again. */
static inline void stub_stay(struct stub_worker *me)
{
    enum tn_work work = stub_sched->may_have_work(&me->pub);
    if (work != TN_WORK_SOME) {
        tn_time deadline = stub_earliest;
        if (work == TN_WORK_HELD) {
            me->watch_ns = me->watch_ns == 0                  ? STUB_WATCH_NS
                           : me->watch_ns < STUB_WATCH_MAX_NS ? 2 * me->watch_ns
                                                              : STUB_WATCH_MAX_NS;
            deadline = tn_now() + me->watch_ns;
        }
        if (deadline != UINT64_MAX && !tn_idle_watch(&stub_idle, &me->slot, deadline))
            deadline = UINT64_MAX;
        tn_idle_sleep(&me->slot, deadline < STUB_FAR ? deadline : UINT64_MAX);
    }
    if (tn_idle_withdraw(&stub_idle, &me->slot)) /* else whoever woke us has begun it */
        tn_idle_search_begin(&stub_idle);
    me->searching = true;
}

static inline void stub_park(struct stub_worker *me)
{
    if (me->searching) {
        me->searching = false;
        tn_idle_search_end(&stub_idle);
    }
    tn_idle_announce(&stub_idle, &me->slot, TN_SLOT_PARKED);
    stub_stay(me);
}

static inline void stub_asleep(struct stub_worker *me)
{
    tn_idle_announce(&stub_idle, &me->slot, TN_SLOT_PARKED);
    me->asleep = true;
}

static inline bool stub_leaves_work(struct stub_worker *me)
{
    enum tn_work work = stub_sched->may_have_work(&me->pub);
    if (work == TN_WORK_HELD)
        return !stub_watched();
    return work == TN_WORK_SOME || (stub_earliest != UINT64_MAX && tn_idle_watcher(&stub_idle, NULL) == NULL);
}

static inline void stub_search_over(struct stub_worker *me)
{
    if (!me->searching)
        return;
    me->searching = false;
    me->watch_ns = 0;
    if (!tn_idle_search_end(&stub_idle) || tn_idle_workers(&stub_idle) == 0)
        return;
    tn_fence_heavy();
    if (stub_leaves_work(me))
        stub_wake(NULL);
}

static inline struct stub_fibre *stub_get(struct stub_worker *me)
{
    struct stub_fibre *f;
    if (me->asleep) {
        me->asleep = false;
        stub_stay(me);
    }
    while ((f = stub_next(me, false)) == NULL && (f = stub_search(me)) == NULL)
        stub_park(me);
    stub_search_over(me);
    return f;
}

static inline void stub_absent(struct stub_worker *me)
{
    assert(me->pub.index + 1 == stub_cluster.slots);
    if (stub_sched->worker_leave != NULL)
        stub_sched->worker_leave(&me->pub);
    tn_idle_leave(&stub_idle, &me->slot);
    atomic_store_explicit(&stub_cluster.used, me->pub.index, memory_order_relaxed); /* relaxed: no thread is there */
}

static inline void stub_join(struct stub_worker *me)
{
    atomic_store_explicit(&stub_cluster.used, me->pub.index + 1, memory_order_release); /* U0 release */
    tn_idle_join(&stub_idle, &me->slot);
    if (stub_sched->worker_join != NULL)
        stub_sched->worker_join(&me->pub);
}

static inline void stub_leave(struct stub_worker *me)
{
    if (me->searching) {
        me->searching = false;
        tn_idle_search_end(&stub_idle);
    }
    if (stub_sched->worker_leave != NULL)
        stub_sched->worker_leave(&me->pub);
    tn_idle_leave(&stub_idle, &me->slot);
    stub_notify(0);
}
