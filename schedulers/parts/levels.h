/* SPDX-License-Identifier: MIT
 *
 * A logical queue (000 §3.2.2): a basic one (pushed.h) for each level of priority. Level 0 is the most urgent; what has no
 * priority lies in the middle, and what is beyond either end belongs to it. Priorities are fixed: who pops takes from the
 * most urgent level that has something; what lies lower waits as long as that goes on, but for who asks for the last first.
 *
 * Invariant: a fibre that was pushed is popped once. Empty is reliable, of each level: a push that happened before is seen.
 */
#ifndef TN_PARTS_LEVELS_H
#define TN_PARTS_LEVELS_H

#include "parts/pushed.h"

struct tn_levels {
    /* constant, all */
    struct tn_pushed *level;
    uint32_t n;
    enum tn_pushed_kind kind;
    struct tn_pushed_nodes *all;
};

static inline struct tn_pushed *tn_levels_of(const struct tn_levels *q, int priority)
{
    int level = (int)(q->n / 2) - priority;
    return &q->level[level < 0 ? 0 : level < (int)q->n ? level : (int)q->n - 1];
}

static inline void tn_levels_fini(struct tn_levels *q)
{
    tn_sched_free(q->level, q->n * sizeof *q->level);
}

/* 0, or ENOMEM. */
static inline int tn_levels_init(struct tn_levels *q, uint32_t n, enum tn_pushed_kind kind,
                                 struct tn_pushed_nodes *all)
{
    *q = (struct tn_levels){.level = tn_sched_alloc(n * sizeof *q->level), .n = n, .kind = kind, .all = all};
    for (uint32_t i = 0; i < n && q->level != NULL; i++)
        tn_pushed_init(&q->level[i], kind);
    return q->level != NULL ? 0 : ENOMEM;
}

/* Any thread; see tn_pushed_push. */
static inline bool tn_levels_push(struct tn_levels *q, struct tn_pushed_hand *hand, struct tn_fibre *f)
{
    return tn_pushed_push(tn_levels_of(q, f->priority), q->kind, q->all, hand, f);
}

static inline bool tn_levels_empty(struct tn_levels *q)
{
    for (uint32_t i = 0; i < q->n; i++)
        if (!tn_pushed_empty(&q->level[i], q->kind))
            return false;
    return true;
}

/* Any worker; from the most urgent level, or with `last` from the least. NULL: empty. */
static inline struct tn_fibre *tn_levels_pop(struct tn_levels *q, struct tn_pushed_hand *hand, bool last)
{
    struct tn_fibre *f = NULL;
    for (uint32_t i = 0; i < q->n && f == NULL; i++)
        f = tn_pushed_pop(&q->level[last ? q->n - 1 - i : i], q->kind, q->all, hand);
    return f;
}

#endif
