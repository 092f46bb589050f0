/* SPDX-License-Identifier: MIT */
/*
 * The mutex of one worker's fibres: none of them runs beside another, and a fibre leaves its worker only where it says so, so
 * plain loads and stores do. Only the end of a wait by its deadline or token may come from elsewhere, and that is decided by
 * the wait itself (tn_claim). It is handed over: while somebody waits nobody else finds it free.
 */
#include "waiting.h"

#include "tenter_sync.h"

#include <errno.h>

_Static_assert(sizeof(tn_local_mutex) == 24, "its size is stated");

/* The caller, or NULL if it is no fibre of the cluster. That no worker has joined since is only looked at in builds that
 * check. */
static inline struct fibre *caller_at_home(const tn_local_mutex *m)
{
    struct worker *w = tn_self();
    struct fibre *me = __builtin_expect(w != NULL && w->pub.cluster == m->cluster, 1) ? w->current : NULL;
#if TN_LOCK_CHECK
    if (me != NULL && tn_workers(m->cluster) != 1) /* one that was never initialised has no cluster */
        return NULL;
#endif
    return me;
}

/* In builds that check, what a fibre has is counted. */
static inline int counted(int rc)
{
    if (TN_LOCK_CHECK)
        tn_has(rc == 0);
    return rc;
}

TN_API int tn_local_mutex_init(tn_local_mutex *m, tn_cluster *cluster)
{
    if (cluster == NULL || tn_workers(cluster) != 1)
        return EINVAL;
    *m = (tn_local_mutex){cluster, NULL, NULL};
    return 0;
}

TN_API int tn_local_mutex_destroy(tn_local_mutex *m)
{
    return m->holder != NULL ? EBUSY : 0;
}

static __attribute__((noinline)) int wait_for(tn_local_mutex *m, const struct fibre *me, tn_time deadline,
                                              tn_token *token)
{
    struct tn_node **ring = (struct tn_node **)(void *)&m->ring;
    struct tn_node node;
    node.caller = (uintptr_t)me;
    if (me == m->holder)
        return EDEADLK;
    tn_node_open(&node);
    tn_ring_put(ring, &node, false);
    int rc = tn_node_wait(&node, "local mutex", m, deadline, token);
    if (rc != 0 && node.next != NULL)
        tn_ring_take(ring, &node);
    return rc;
}

TN_API __attribute__((noinline)) int tn_local_mutex_lock_until(tn_local_mutex *m, tn_time deadline, tn_token *token)
{
    struct fibre *me = caller_at_home(m);
    if (__builtin_expect(me == NULL, 0))
        return EPERM;
    if (__builtin_expect(m->holder != NULL, 0))
        return counted(wait_for(m, me, deadline, token));
    m->holder = me;
    return counted(0);
}

/* In a function of its own, that the way without a wait saves no registers. */
static __attribute__((noinline)) int wait_masked(tn_local_mutex *m, const struct fibre *me)
{
    bool masked = tn_cancel_mask(true);
    int rc = wait_for(m, me, TN_FOREVER, NULL);
    tn_cancel_mask(masked);
    return rc;
}

TN_API __attribute__((noinline)) int tn_local_mutex_lock(tn_local_mutex *m)
{
    struct fibre *me = caller_at_home(m);
    if (__builtin_expect(me == NULL, 0))
        return EPERM;
    if (__builtin_expect(m->holder != NULL, 0))
        return counted(wait_masked(m, me));
    m->holder = me;
    return counted(0);
}

TN_API int tn_local_mutex_trylock(tn_local_mutex *m)
{
    struct fibre *me = caller_at_home(m);
    if (me == NULL)
        return EPERM;
    if (m->holder != NULL)
        return EBUSY;
    m->holder = me;
    return counted(0);
}

static __attribute__((noinline)) void hand_over(tn_local_mutex *m)
{
    struct tn_claimed claimed = {NULL, NULL};
    m->holder = NULL;
    for (struct tn_node *node; m->holder == NULL && (node = m->ring) != NULL;) {
        uintptr_t caller = node->caller;
        tn_ring_take((struct tn_node **)(void *)&m->ring, node);
        if (tn_claim(node, &claimed))
            m->holder = (void *)caller;
    }
    tn_resume(claimed);
}

TN_API __attribute__((noinline)) int tn_local_mutex_unlock(tn_local_mutex *m)
{
    struct fibre *me = caller_at_home(m);
    if (__builtin_expect(me == NULL || m->holder != me, 0))
        return EPERM;
    if (TN_LOCK_CHECK)
        tn_has(-1);
    if (__builtin_expect(m->ring != NULL, 0))
        hand_over(m);
    else
        m->holder = NULL;
    return 0;
}
