/* SPDX-License-Identifier: MIT
 *
 * Groups of fibres that end together, and how their waits are cancelled (003 §4.4.8). A fibre is made a member by
 * tn_attr.group; nothing that was spawned in a group outlives tn_group_close.
 *
 * What cancels. A group is cancelled by the first of its members that fails, by tn_group_cancel, and with the member that
 * has opened it. Then all waits of its members that can be cancelled end with ECANCELED, the present one and all that
 * follow; members that have not begun begin, so that they can free their argument. A group's deadline, or that of a group
 * around it if that is earlier, ends them with ETIMEDOUT. What is there at once is had all the same.
 *
 * What is cancelled: every wait that can tell it: all functions that take a token, tn_suspend, tn_sleep, tn_join,
 * tn_sem_wait, tn_cond_wait (which has the mutex again when it returns), tn_latch_wait, tn_barrier_wait, tn_channel_send,
 * tn_channel_receive, tn_spawn under TN_FULL_WAIT. No others, since programs do not look at what they return:
 * tn_mutex_lock, tn_rwlock_rdlock, tn_rwlock_wrlock, tn_local_mutex_lock, tn_once_do, tn_promise_get, tn_blocking,
 * tn_group_close. docs/groups.md has the table.
 *
 * A fibre that is told so ends: by returning, or from anywhere by tn_exit, which runs its clean-up handlers. Nothing is
 * taken from it by force: it gives back what it holds itself, or in a handler.
 */
#ifndef TENTER_GROUP_H
#define TENTER_GROUP_H

#include "tenter_sync.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a member returns, or ends with by tn_exit, if it has failed: an errno value in place of a pointer. NULL, and all
 * above TN_ERROR_MAX, is no failure. */
#define TN_ERROR_MAX    4095
#define TN_ERROR(error) ((void *)(uintptr_t)(error))

/* 80 bytes of the caller's memory. */
typedef struct tn_group {
    uint32_t lock;
    int error;
    void *members, *opener;
    struct tn_group *next, **at;
    tn_time deadline;
    tn_latch left;
    bool cancelled;
    tn_sem *room;
} tn_group;

/* Begin a group, with a deadline (TN_FOREVER: none but that of the groups around it). Opened by a member of another
 * group it lies within that, and is cancelled with it, unless that member has masked it. Who: any. Blocks: no. */
TN_API void tn_group_open(tn_group *g, tn_time deadline);
/* From now on the group has room for as many members as `room` has units: whoever is spawned in it takes one, and brings it
 * back when it has ended, not when it has begun. What a spawn does that finds none says tn_attr.full: it is refused, waits
 * (in order, until tn_attr.deadline), or the member does without. So members that wait press back on who spawns them,
 * whatever the module (003 §4.4.7). Several groups may share one; it must be there until they are closed. A member that
 * waits for room in its own group may wait for ever. Who: the one that has opened it, before anything is spawned in
 * it. Blocks: no. */
TN_API void tn_group_bound(tn_group *g, tn_sem *room);
/* Wait until every member has ended; after that the group's memory is free. No cancellation ends this wait: members
 * are told of it. Each group that was opened must be closed: a member that ends before that ends the program with a message.
 * One that a plain thread has opened must be closed before tn_stop, which drops its members: after that it never ends.
 * Who: the one that has opened it. Blocks; the fibre may go on on another worker. Returns the first failure: what
 * a member ended with, or ECANCELED; 0: there was none. Errors: EDEADLK a member closes its own group. */
TN_API int tn_group_close(tn_group *g);
/* Cancel the members, and refuse further ones. Who: any that knows that it is open. Blocks: no. */
TN_API void tn_group_cancel(tn_group *g);

/* Has the caller been cancelled? 0, ECANCELED, or ETIMEDOUT after its deadline; 0 also while masked. For what computes
 * without waiting. Who: any (0 for who is no member). Blocks: no. */
TN_API int tn_cancelled(void);
/* While it is masked, no wait of the caller ends by its group, nor by its deadline. Returns what was set before. A group
 * that is opened meanwhile lies within none. Who: any (no member: false, and nothing is done). Blocks: no. */
TN_API bool tn_cancel_mask(bool masked);

/* A clean-up handler: an object in the frame of who pushes it. */
struct tn_cleanup {
    void (*fn)(void *arg);
    void *arg;
    struct tn_cleanup *next;
};

/* From here on fn(arg) is called if the fibre ends by tn_exit: once, in reverse order of pushing, masked, before
 * destructors of tn_local_set. It may do whatever a fibre may. A function pops what it has pushed before it returns; a
 * fibre that returns with one pushed ends the program with a message. For a fibre that tn_stop drops none is called.
 * Who: fibre, member or not. Blocks: no. Errors: EPERM. */
TN_API int tn_cleanup_push(struct tn_cleanup *c, void (*fn)(void *arg), void *arg);
/* Take the last one off, and call it if `run`: not masked, as any call of the caller's. Who: fibre. Blocks: as fn
 * does. Errors: EPERM; EINVAL there is none. */
TN_API int tn_cleanup_pop(bool run);

#ifdef __cplusplus
}
#endif
#endif
