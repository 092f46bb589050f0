/* SPDX-License-Identifier: MIT */
/* See waiting.h. */
#include "waiting.h"

void tn_node_open(struct tn_node *node)
{
    tn_node_fresh(node);
    node->waiter = tn_wait_prepare();
    if (node->waiter.fibre == NULL)
        node->waiter.seq = tn_process(); /* of a thread: that a child of fork knows it for the parent's */
}

int tn_node_wait(struct tn_node *node, const char *what, const void *object, tn_time deadline, tn_token *token)
{
    if (node->waiter.fibre == NULL)
        return tn_thread_wait(node, deadline, token);
    fibre_of(node->waiter.fibre)->note = (struct tn_wait_note){what, object, node->waiter.seq};
    return tn_wait(deadline, token);
}

void tn_has(int more)
{
    struct worker *w = tn_self();
    if (w != NULL)
        w->current->has += (unsigned)more;
}

uint64_t tn_waiting_random(const void *near)
{
    struct worker *w = tn_self();
    struct tn_worker stream = {.random = w != NULL ? w->chances : tn_now() ^ (uint64_t)(uintptr_t)near};
    uint64_t chosen = tn_random(&stream);
    if (w != NULL)
        w->chances = stream.random;
    return chosen;
}
