/* SPDX-License-Identifier: MIT
 *
 * The null poller: no descriptors. An idle worker parks on its own word (park=word) or, as with a poller that has
 * something to wait for, in the poller, on an event source (park=source).
 */
#define TN_KNOB_OWNER null
#include "poller.h"

#define NULL_KNOBS(K) \
    K(park, "word|source", 0, 0, 1, "", "where an idle worker sleeps: on its word, or in the poller", "000 §3.4")

enum { NULL_KNOBS(TN_KNOB_ENUM) };
static const struct tn_knob null_knobs[] = {NULL_KNOBS(TN_KNOB_ROW)};

struct null_state {
    int source;
    bool in_poller;
};

static int null_open(struct tn_cluster *cl, void *state, const int64_t *knobs)
{
    (void)cl;
    struct null_state *s = state;
    s->in_poller = TN_KNOB(knobs, null, park) == 1;
    s->source = -1;
    return s->in_poller ? tn_source_open(&s->source) : 0;
}

static void null_close(struct tn_cluster *cl, void *state)
{
    (void)cl;
    struct null_state *s = state;
    if (s->in_poller)
        tn_source_close(s->source);
}

static unsigned null_poll(void *state, struct tn_list *ready, tn_time deadline)
{
    (void)ready;
    struct null_state *s = state;
    if (deadline != 0)
        tn_source_wait(s->source, deadline);
    return 0;
}

static bool null_idle(void *state, struct tn_worker *me)
{
    (void)me;
    return ((struct null_state *)state)->in_poller;
}

static void null_wake(void *state)
{
    tn_source_wake(((struct null_state *)state)->source);
}

const struct tn_poller tn_poller_null = {
    .name = "null",
    .summary = "no I/O",
    .cluster_size = sizeof(struct null_state),
    .knobs = null_knobs,
    .n_knobs = sizeof null_knobs / sizeof null_knobs[0],
    .open = null_open,
    .close = null_close,
    .poll = null_poll,
    .idle = null_idle,
    .wake = null_wake,
};
