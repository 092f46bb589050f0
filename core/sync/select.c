/* SPDX-License-Identifier: MIT */
/* tn_select on select.h. */
#include "select.h"

static struct tn_arm_wait *wait_of(struct tn_arm *arm)
{
    return (struct tn_arm_wait *)(void *)arm->room;
}

static bool same(const struct tn_arm *a, const struct tn_arm *b)
{
    return a != NULL && b != NULL && a->object == b->object;
}

/* By the addresses of their objects; what has come in order, as from an array, is gone through once. */
static struct tn_arm *sorted(struct tn_arm *arms, unsigned n)
{
    struct tn_arm *lowest = NULL, *last = NULL;
    for (struct tn_arm *arm = arms; arm < arms + n; last = arm++) {
        struct tn_arm **at = &lowest;
        if (last != NULL && (uintptr_t)last->object <= (uintptr_t)arm->object)
            at = &wait_of(last)->above;
        while (*at != NULL && (uintptr_t)(*at)->object <= (uintptr_t)arm->object)
            at = &wait_of(*at)->above;
        wait_of(arm)->above = *at;
        *at = arm;
    }
    return lowest;
}

static void lock_all(struct tn_arm *lowest)
{
    for (struct tn_arm *arm = lowest, *below = NULL; arm != NULL; below = arm, arm = wait_of(arm)->above)
        if (!same(below, arm))
            tn_waitlist_lock(arm->object);
}

static void unlock_all(struct tn_arm *lowest)
{
    for (struct tn_arm *arm = lowest; arm != NULL; arm = wait_of(arm)->above)
        if (!same(wait_of(arm)->above, arm))
            tn_waitlist_unlock(tn_waitlist_of(arm->object));
}

/* Any order as likely as any other. */
static void shuffle(struct tn_arm *arms, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned other = i == 0 ? 0 : (unsigned)(tn_waiting_random(arms) % (i + 1));
        wait_of(&arms[i])->turn = wait_of(&arms[other])->turn;
        wait_of(&arms[other])->turn = i;
    }
}

static unsigned take_one(struct tn_arm *arms, unsigned n, struct tn_claims *claims)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned which = wait_of(&arms[i])->turn;
        if (arms[which].kind->take(&arms[which], claims))
            return which;
    }
    return n;
}

static void enter_all(struct tn_arm *arms, unsigned n)
{
    struct tn_node *first = &wait_of(&arms[0])->node;
    tn_node_open(first);
    for (unsigned i = 0; i < n; i++) {
        struct tn_node *node = &wait_of(&arms[i])->node;
        if (i > 0)
            tn_node_of(node, first);
        node->item = arms[i].item;
        tn_waitlist_put(arms[i].kind->ring(&arms[i]), node);
    }
}

static unsigned let_go(struct tn_arm *arms, unsigned n)
{
    for (unsigned spins = 0;; tn_spin_wait(&spins)) /* only who had not even suspended will not find it at once */
        for (unsigned i = 0; i < n; i++)
            if (atomic_load_explicit(&wait_of(&arms[i])->node.let_go, memory_order_acquire)) /* L0 */
                return i;
}

static void leave_all(struct tn_arm *arms, unsigned n, unsigned but)
{
    for (unsigned i = 0; i < n; i++)
        if (i != but) {
            struct tn_waitlist *l = tn_waitlist_lock(arms[i].object);
            tn_waitlist_leave(&wait_of(&arms[i])->node);
            tn_waitlist_unlock(l);
        }
}

TN_API __attribute__((noinline)) int tn_select(struct tn_arm *arms, unsigned n, unsigned *which, tn_time deadline,
                                               tn_token *token)
{
    if (n == 0 || n > TN_SELECT_MAX)
        return EINVAL;
    struct tn_claims claims = {NULL, NULL};
    struct tn_arm *lowest = sorted(arms, n);
    shuffle(arms, n);
    lock_all(lowest);
    *which = take_one(arms, n, &claims);
    if (*which < n) {
        unlock_all(lowest);
        tn_claims_let_go(claims);
        return 0;
    }
    enter_all(arms, n);
    unlock_all(lowest);
    int rc = tn_node_wait(&wait_of(&arms[0])->node, n == 1 ? arms[0].kind->what : "select", arms[0].object, deadline,
                          token);
    unsigned chosen = rc == 0 ? let_go(arms, n) : n;
    leave_all(arms, n, chosen);
    *which = chosen;
    if (rc == 0)
        arms[chosen].rc = wait_of(&arms[chosen])->node.told;
    return rc;
}
