/* SPDX-License-Identifier: MIT */
/*
 * Spawners that wait for room. A module says when it is full, not when there is room again, and no choice of a fibre pays for
 * those who wait: they are told where a fibre begins (which it needs no more room for), at every look up of a worker, and
 * by each worker that finds nothing to do before it sleeps. So a module refuses for the sake of what is ready, and of nothing
 * else: who was refused may be told as soon as nothing is.
 *
 * Proof that nobody waits while there is room and all workers sleep. 1. A spawner says that it is there, passes a
 * fence, reads the number and tries; a worker that is about to sleep has emptied the queue and passed its own (idle.h, 1) when it
 * asks whether somebody is there. So the spawner finds the queue empty, or the worker finds the spawner. 2. In the latter
 * case the number changes and the first that waits is woken, both under the lock. Whoever was not yet in the ring finds the
 * number changed when it enters, and tries again; what it reads there it has from who told, and so that is no older than
 * the room that was made. 3. Who leaves without a fibre leaves the room to the next.
 */
#include "waitlist.h"

#include "platform.h"
#include "room.h"

/* False: somebody was told since `told` was read. */
static bool enter(struct tn_room *r, struct tn_node *node, uint32_t told)
{
    struct tn_waitlist *l = tn_waitlist_lock(&r->spawners);
    bool same = l->state == told;
    if (same)
        tn_waitlist_enter(l, node);
    tn_waitlist_unlock(l);
    return same;
}

int tn_room_wait(struct tn_room *r, int (*again)(void *), void *arg, tn_time deadline)
{
    struct tn_waitlist *l = tn_waitlist_of(&r->spawners);
    struct tn_node node;
    int rc, over = 0;
    atomic_fetch_add_explicit(&r->wanted, 1, memory_order_relaxed); /* relaxed: a fence follows */
    do {
        tn_innerlock_lock(&l->lock);
        uint32_t told = l->state;
        tn_innerlock_unlock(&l->lock);
        atomic_thread_fence(memory_order_seq_cst); /* IF0: with that of who parks */
        rc = again(arg);
        if (rc == EAGAIN && enter(r, &node, told)) {
            over = tn_waitlist_wait(l, &node, "room to spawn", deadline, NULL);
            if (over != 0)
                tn_waitlist_unlock(l);
        }
    } while (rc == EAGAIN && over == 0);
    /* relaxed: nobody waits for it to become less */
    if (atomic_fetch_sub_explicit(&r->wanted, 1, memory_order_relaxed) > 1 && rc != 0 && over == 0)
        tn_room_tell(r);
    return rc == EAGAIN ? over : rc;
}

void tn_room_tell(struct tn_room *r)
{
    struct tn_claims claims = {NULL, NULL};
    struct tn_waitlist *l = tn_waitlist_lock(&r->spawners);
    l->state++;
    while (l->ring != NULL && !tn_waitlist_grant(l->ring, &claims))
        ;
    tn_waitlist_let_go(l, claims);
}
