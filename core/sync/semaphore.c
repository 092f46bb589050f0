/* SPDX-License-Identifier: MIT */
/*
 * The semaphore on waitlist.h; `state` is its value. With the lock open each one in the ring wants more than the value, so
 * whoever comes and finds enough overtakes only those for which it would not do.
 */
#include "waitlist.h"

#include <errno.h>

_Static_assert(sizeof(tn_sem) == 24, "its size is stated");

static uint32_t limit_of(const tn_sem *s)
{
    return s->limit != 0 ? s->limit : TN_SEM_MAX;
}

TN_API int tn_sem_init(tn_sem *s, uint32_t value, uint32_t limit)
{
    if (limit > TN_SEM_MAX || value > (limit != 0 ? limit : TN_SEM_MAX))
        return EINVAL;
    *s = (tn_sem)TN_SEM_INIT(value, limit);
    return 0;
}

TN_API int tn_sem_destroy(tn_sem *s)
{
    return tn_waitlist_idle(&s->waits);
}

TN_API int tn_sem_wait_until(tn_sem *s, uint32_t n, tn_time deadline, tn_token *token)
{
    if (n > limit_of(s))
        return EINVAL;
    struct tn_waitlist *l = tn_waitlist_lock(&s->waits);
    if (l->state >= n) {
        l->state -= n;
        tn_waitlist_unlock(l);
        return 0;
    }
    struct tn_node node;
    node.wants = n;
    tn_waitlist_enter(l, &node);
    tn_waitlist_unlock(l);
    int rc = tn_waitlist_wait(l, &node, "semaphore", deadline, token);
    if (rc != 0)
        tn_waitlist_unlock(l);
    return rc;
}

TN_API int tn_sem_wait(tn_sem *s)
{
    return tn_sem_wait_until(s, 1, TN_FOREVER, NULL);
}

TN_API int tn_sem_trywait_n(tn_sem *s, uint32_t n)
{
    if (n > limit_of(s))
        return EINVAL;
    struct tn_waitlist *l = tn_waitlist_lock(&s->waits);
    bool enough = l->state >= n;
    l->state -= enough ? n : 0;
    tn_waitlist_unlock(l);
    return enough ? 0 : EAGAIN;
}

TN_API int tn_sem_trywait(tn_sem *s)
{
    return tn_sem_trywait_n(s, 1);
}

TN_API int tn_sem_post_n(tn_sem *s, uint32_t n)
{
    struct tn_claims claims = {NULL, NULL};
    struct tn_waitlist *l = tn_waitlist_lock(&s->waits);
    if (n > limit_of(s) - l->state) {
        tn_waitlist_unlock(l);
        return EOVERFLOW;
    }
    l->state += n;
    /* Once around, in the order in which they came: what one leaves is for the next that it does for. */
    struct tn_node *node = l->ring, *last = node != NULL ? node->before : NULL, *next;
    for (; node != NULL && l->state > 0; node = next) {
        next = node != last ? node->next : NULL;
        uint32_t wants = node->wants; /* who is claimed may be off */
        if (wants <= l->state && tn_waitlist_grant(node, &claims))
            l->state -= wants;
    }
    tn_waitlist_let_go(l, claims);
    return 0;
}

TN_API int tn_sem_post(tn_sem *s)
{
    return tn_sem_post_n(s, 1);
}

TN_API uint32_t tn_sem_value(tn_sem *s)
{
    struct tn_waitlist *l = tn_waitlist_lock(&s->waits);
    uint32_t value = l->state;
    tn_waitlist_unlock(l);
    return value;
}
