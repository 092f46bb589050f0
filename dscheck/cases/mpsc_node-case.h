/* SPDX-License-Identifier: MIT */
/* mpsc_node with the face of mpsc-case.h: each item brings a node, its own at first. */
#ifndef MPSC_NODE_CASE_H
#define MPSC_NODE_CASE_H

#include "queue-case.h"

#include "core/queues/mpsc_node.h"

static struct tn_mpsc_nodes queue;
static struct tn_mpsc_node first, own[ITEMS], *bring[ITEMS]; /* what an item brings next time */

static void mpsc_init(void)
{
    tn_mpsc_nodes_init(&queue, &first);
    for (int i = 0; i < ITEMS; i++)
        bring[i] = &own[i];
}
static void mpsc_push(int n)
{
    tn_mpsc_nodes_push(&queue, bring[n], &node[n]);
}
static void *mpsc_pop(void)
{
    void *item;
    struct tn_mpsc_node *free = tn_mpsc_nodes_pop(&queue, &item);

    if (free == NULL)
        return NULL;
    bring[(struct tn_link *)item - node] = free;
    return item;
}
static bool mpsc_empty(void)
{
    return tn_mpsc_nodes_empty(&queue);
}

#include "mpsc-case.h"

#endif
