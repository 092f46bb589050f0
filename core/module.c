/* SPDX-License-Identifier: MIT
 *
 * A scheduler module's table and answers are looked at before they are relied on: a plug-in is somebody else's file.
 */
#include "internal.h"
#include "preempted.h"

static int refuse(const struct tn_scheduler *s, const char *what)
{
    tn_message("tenter: scheduler '%s' %s", s->name != NULL ? s->name : "", what);
    return EINVAL;
}

int module_check(const struct tn_scheduler *s)
{
    const struct {
        const char *name;
        bool there;
    } needed[] = {{"name", s->name != NULL},
                  {"ready", s->ready != NULL},
                  {"next", s->next != NULL},
                  {"may_have_work", s->may_have_work != NULL},
                  {"drain", s->drain != NULL},
                  {"pass", s->pass != NULL || s->passed == NULL},
                  {"passed", s->passed != NULL || s->pass == NULL},
                  {"knobs", s->n_knobs == 0 || s->knobs != NULL},
                  {"counters", s->n_counters == 0 || s->counters != NULL}};
    char line[160] = "is refused, its table lacks";
    bool whole = true;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].there) {
            strncat(line, whole ? " ." : ", .", sizeof line - strlen(line) - 1);
            strncat(line, needed[i].name, sizeof line - strlen(line) - 1);
            whole = false;
        }
    if (!whole)
        return refuse(s, line);
    if (s->n_knobs > TN_KNOBS_MAX)
        return refuse(s, "is refused, it has more than TN_KNOBS_MAX knobs");
    if (s->n_counters > TN_MODULE_COUNTERS_MAX)
        return refuse(s, "is refused, it has more than TN_MODULE_COUNTERS_MAX counters");
    if (s->fibre_size > TN_FIBRE_STATE_MAX)
        return refuse(s, "is refused, its fibre_size is more than TN_FIBRE_STATE_MAX");
    return 0;
}

int module_answer(const struct tn_scheduler *s, int rc)
{
    return rc < 0 ? refuse(s, "is refused, its cluster_init or worker_init answered with less than 0") : rc;
}

int module_room(const struct tn_scheduler *s, const struct tn_stacks *stacks)
{
    if (s->fibre_size <= stacks->state_bytes)
        return 0;
    tn_message(
        "tenter: scheduler '%s' keeps %zu bytes with each fibre, this runtime has room for %zu: let tn_start make "
        "the cluster of that module",
        s->name, s->fibre_size, stacks->state_bytes);
    return EINVAL;
}

struct ready_of {
    struct tn_cluster *cluster;
    size_t n;
};

static void count_ready(struct fibre *f, void *ready_of)
{
    struct ready_of *r = ready_of;
    r->n += f->pub.cluster == r->cluster && fibre_doing(f) == DOING_READY;
}

void module_drain(struct cluster *cl)
{
    struct tn_list left = {0};
    struct ready_of ready = {.cluster = &cl->pub};
    cl->sched->drain(&cl->pub, &left);
    each_block(cl->rt, count_ready, &ready);
    uint32_t used = atomic_load_explicit(&cl->pub.used, memory_order_relaxed); /* relaxed: nobody else is left */
    for (uint32_t i = 0; i < used; i++)
        ready.n -= preempted_count(worker_of(cl->pub.workers[i])); /* which no module has */
    if (left.count != ready.n)
        tn_message("tenter: scheduler '%s': drain() has given back %zu fibres, %zu are ready", cl->sched->name,
                   left.count, ready.n);
}

void module_misplaced(const struct tn_scheduler *s, int answer)
{
    tn_die("tenter: scheduler '%s': ready() answered %d, which stands for no worker of the cluster (TN_FOR) nor for "
           "anything else",
           s->name, answer);
}
