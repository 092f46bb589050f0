/* SPDX-License-Identifier: MIT */
/*
 * Groups of fibres. Members, and the groups that a member has opened, are lists under the lock of the group; to cancel is
 * to fire the token of each member with it held, and to go down into the groups that members have opened.
 *
 * Proof. 1. A member enters with the lock held, unless the group is cancelled; who cancels finds it, or it found that.
 * So does a group that is opened, with the lock of the opener's group: it is in the list, or the opener's token had fired.
 * 2. A member takes itself out with the lock held before it ends, so nobody fires the token of one whose stack is gone.
 * 3. Only afterwards it counts `left` down, and does no more to the group: who closes it returns when all have. A
 * group that has an opener may be cancelled from above until it is out of that list, which is the last thing that is waited
 * for. Its unit of the group's room it brings back before, since that may go with the group. 4. Locks are taken from
 * outside in, so no two wait for each other: who opens, closes or ends holds none.
 */
#include "waitlist.h"

#include "scope.h"

#include <errno.h>

_Static_assert(sizeof(tn_group) == 80, "its size is stated");

static struct tn_innerlock *lock_of(tn_group *g)
{
    return (struct tn_innerlock *)(void *)&g->lock;
}

/* With the lock held. */
static void cancel(tn_group *g, int error)
{
    if (g->error == 0)
        g->error = error;
    if (g->cancelled)
        return;
    g->cancelled = true;
    for (struct tn_scope *s = g->members; s != NULL; s = s->next) {
        tn_token_fire(&s->token);
        for (tn_group *in = s->groups; in != NULL; in = in->next) {
            tn_innerlock_lock(lock_of(in));
            cancel(in, ECANCELED);
            tn_innerlock_unlock(lock_of(in));
        }
    }
}

TN_API void tn_group_open(tn_group *g, tn_time deadline)
{
    struct tn_scope *s = tn_scope_self();
    if (s != NULL && s->masked)
        s = NULL;
    *g = (tn_group){.opener = s, .deadline = s != NULL && s->deadline < deadline ? s->deadline : deadline};
    if (s == NULL)
        return;
    tn_innerlock_lock(lock_of(s->group));
    if (tn_token_fired(&s->token)) {
        g->cancelled = true;
        g->error = ECANCELED;
    }
    g->next = s->groups;
    g->at = &s->groups;
    if (g->next != NULL)
        g->next->at = &g->next;
    s->groups = g;
    tn_innerlock_unlock(lock_of(s->group));
}

TN_API void tn_group_bound(tn_group *g, tn_sem *room)
{
    g->room = room;
}

TN_API void tn_group_cancel(tn_group *g)
{
    tn_innerlock_lock(lock_of(g));
    cancel(g, ECANCELED);
    tn_innerlock_unlock(lock_of(g));
}

TN_API int tn_group_close(tn_group *g)
{
    struct tn_scope *s = tn_scope_self(), *opener = g->opener;
    if (s != NULL && s->group == g)
        return EDEADLK;
    bool masked = tn_cancel_mask(true);
    tn_latch_wait(&g->left);
    tn_cancel_mask(masked);
    if (opener != NULL) {
        tn_innerlock_lock(lock_of(opener->group));
        *g->at = g->next;
        if (g->next != NULL)
            g->next->at = g->at;
        tn_innerlock_unlock(lock_of(opener->group));
    }
    return g->error;
}

int tn_scope_enter(struct tn_scope *s, tn_group *g)
{
    *s = (struct tn_scope){.group = g, .deadline = g->deadline};
    tn_token_init(&s->token);
    tn_innerlock_lock(lock_of(g));
    bool refused = g->cancelled;
    if (!refused) {
        tn_latch_up(&g->left, 1);
        s->next = g->members;
        s->at = (struct tn_scope **)(void *)&g->members;
        if (s->next != NULL)
            s->next->at = &s->next;
        g->members = s;
    }
    tn_innerlock_unlock(lock_of(g));
    return refused ? ECANCELED : 0;
}

void tn_scope_leave(struct tn_scope *s, int error)
{
    tn_group *g = s->group;
    tn_innerlock_lock(lock_of(g));
    *s->at = s->next;
    if (s->next != NULL)
        s->next->at = s->at;
    if (error != 0)
        cancel(g, error);
    tn_innerlock_unlock(lock_of(g));
    if (s->room != NULL) /* before it is counted: then also this may be gone */
        tn_sem_post(s->room);
    tn_latch_down(&g->left, 1);
}
