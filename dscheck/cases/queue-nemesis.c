/* SPDX-License-Identifier: MIT */
/* nemesis: two producers, one item and two, and the consumer; see mpsc-case.h. */
#include "queue-case.h"

#include "core/queues/nemesis.h"

static struct tn_nemesis queue;

static void mpsc_init(void)
{
    tn_nemesis_init(&queue);
}
static void mpsc_push(int n)
{
    tn_nemesis_push(&queue, &node[n]);
}
static void *mpsc_pop(void)
{
    return tn_nemesis_pop(&queue);
}
static bool mpsc_empty(void)
{
    return tn_nemesis_empty(&queue);
}

#include "mpsc-case.h"

CASE_MAIN(mpsc_prepare, mpsc_check, mpsc_one, mpsc_two, mpsc_consumer)
