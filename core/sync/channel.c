/* SPDX-License-Identifier: MIT */
/*
 * The channel on select.h; `state` is how many items are on the way, the list's ring is of receivers.
 *
 * With the lock open: if receivers wait, nothing is on the way; if senders wait, as much is on the way as there is room for;
 * if both wait, then all that wait to receive, or all that wait to send, are of the same waits as the other side, or have
 * given up. If it is closed nobody waits.
 */
#include "select.h"

#include <errno.h>
#include <string.h>

_Static_assert(sizeof(tn_channel) == 48, "its size is stated");

static inline void copy(const tn_channel *c, void *to, const void *from)
{
    if (c->size == sizeof(void *))
        memcpy(to, from, sizeof(void *));
    else if (c->size > 0)
        memcpy(to, from, c->size);
}

static inline void *place(const tn_channel *c, uint32_t nth)
{
    uint32_t at = c->first + nth;
    return (char *)c->items + (size_t)(at < c->capacity ? at : at - c->capacity) * c->size;
}

static struct tn_node **senders(tn_channel *c)
{
    return (struct tn_node **)(void *)&c->senders;
}

/* The first that is still in need of it, which is claimed; NULL: nobody. */
static inline struct tn_node *grant_first(struct tn_node **ring, struct tn_claims *claims)
{
    for (struct tn_node *node; (node = *ring) != NULL;)
        if (tn_waitlist_grant(node, claims))
            return node;
    return NULL;
}

static bool take_send(struct tn_arm *arm, struct tn_claims *claims)
{
    tn_channel *c = arm->object;
    struct tn_waitlist *l = tn_waitlist_of(&c->waits);
    struct tn_node *node;
    arm->rc = 0;
    if (c->closed)
        arm->rc = EPIPE;
    else if ((node = grant_first(&l->ring, claims)) != NULL)
        copy(c, node->item, arm->item);
    else if (l->state < c->capacity)
        copy(c, place(c, l->state++), arm->item);
    else
        return false;
    return true;
}

static bool take_receive(struct tn_arm *arm, struct tn_claims *claims)
{
    tn_channel *c = arm->object;
    struct tn_waitlist *l = tn_waitlist_of(&c->waits);
    struct tn_node *node;
    arm->rc = 0;
    if (l->state > 0) {
        copy(c, arm->item, place(c, 0));
        c->first = c->first + 1 == c->capacity ? 0 : c->first + 1;
        if ((node = grant_first(senders(c), claims)) != NULL)
            copy(c, place(c, l->state - 1), node->item);
        else
            l->state--;
    } else if ((node = grant_first(senders(c), claims)) != NULL) {
        copy(c, arm->item, node->item);
    } else if (c->closed) {
        arm->rc = EPIPE;
    } else {
        return false;
    }
    return true;
}

static struct tn_node **ring_send(struct tn_arm *arm)
{
    return senders(arm->object);
}

static struct tn_node **ring_receive(struct tn_arm *arm)
{
    return &tn_waitlist_of(&((tn_channel *)arm->object)->waits)->ring;
}

TN_API const struct tn_arm_kind tn_arm_send = {"channel: send", take_send, ring_send};
TN_API const struct tn_arm_kind tn_arm_receive = {"channel: receive", take_receive, ring_receive};

/* With the lock, which it opens. */
static inline bool at_once(struct tn_arm *arm, bool (*take)(struct tn_arm *, struct tn_claims *))
{
    struct tn_claims claims = {NULL, NULL};
    struct tn_waitlist *l = tn_waitlist_lock(arm->object);
    if (!take(arm, &claims))
        return false;
    tn_waitlist_let_go(l, claims);
    return true;
}

static __attribute__((noinline)) int wait_for(struct tn_arm *arm, tn_time deadline, tn_token *token)
{
    struct tn_waitlist *l = tn_waitlist_of(arm->object);
    struct tn_node node;
    node.item = arm->item;
    tn_node_open(&node);
    tn_waitlist_put(arm->kind->ring(arm), &node);
    tn_waitlist_unlock(l);
    int rc = tn_waitlist_wait(l, &node, arm->kind->what, deadline, token);
    if (rc == 0)
        return node.told;
    tn_waitlist_unlock(l);
    return rc;
}

TN_API int tn_channel_init(tn_channel *c, void *items, size_t size, size_t capacity)
{
    if (size > INT32_MAX || capacity > INT32_MAX || (items == NULL && size > 0 && capacity > 0))
        return EINVAL;
    *c = (tn_channel)TN_CHANNEL_INIT(items, size, capacity);
    return 0;
}

TN_API int tn_channel_destroy(tn_channel *c)
{
    struct tn_waitlist *l = tn_waitlist_lock(&c->waits);
    bool idle = l->ring == NULL && c->senders == NULL;
    tn_waitlist_unlock(l);
    return idle ? 0 : EBUSY;
}

/* Of a single call, which does not touch its room. */
static inline void arm_of(struct tn_arm *arm, const struct tn_arm_kind *kind, tn_channel *c, const void *item)
{
    arm->kind = kind;
    arm->object = c;
    arm->item = (void *)(uintptr_t)item;
}

TN_API __attribute__((noinline)) int tn_channel_send_until(tn_channel *c, const void *item, tn_time deadline,
                                                           tn_token *token)
{
    struct tn_arm arm;
    arm_of(&arm, &tn_arm_send, c, item);
    return at_once(&arm, take_send) ? arm.rc : wait_for(&arm, deadline, token);
}

TN_API __attribute__((noinline)) int tn_channel_receive_until(tn_channel *c, void *item, tn_time deadline,
                                                              tn_token *token)
{
    struct tn_arm arm;
    arm_of(&arm, &tn_arm_receive, c, item);
    return at_once(&arm, take_receive) ? arm.rc : wait_for(&arm, deadline, token);
}

TN_API int tn_channel_send(tn_channel *c, const void *item)
{
    return tn_channel_send_until(c, item, TN_FOREVER, NULL);
}

TN_API int tn_channel_receive(tn_channel *c, void *item)
{
    return tn_channel_receive_until(c, item, TN_FOREVER, NULL);
}

TN_API int tn_channel_trysend(tn_channel *c, const void *item)
{
    struct tn_arm arm;
    arm_of(&arm, &tn_arm_send, c, item);
    if (at_once(&arm, take_send))
        return arm.rc;
    tn_waitlist_unlock(tn_waitlist_of(&c->waits));
    return EAGAIN;
}

TN_API int tn_channel_tryreceive(tn_channel *c, void *item)
{
    struct tn_arm arm;
    arm_of(&arm, &tn_arm_receive, c, item);
    if (at_once(&arm, take_receive))
        return arm.rc;
    tn_waitlist_unlock(tn_waitlist_of(&c->waits));
    return EAGAIN;
}

static void tell_all(struct tn_node **ring, struct tn_claims *claims)
{
    for (struct tn_node *node; (node = grant_first(ring, claims)) != NULL;)
        node->told = EPIPE;
}

TN_API int tn_channel_close(tn_channel *c)
{
    struct tn_claims claims = {NULL, NULL};
    struct tn_waitlist *l = tn_waitlist_lock(&c->waits);
    int rc = c->closed ? EALREADY : 0;
    c->closed = 1;
    tell_all(&l->ring, &claims);
    tell_all(senders(c), &claims);
    tn_waitlist_let_go(l, claims);
    return rc;
}
