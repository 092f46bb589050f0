/* SPDX-License-Identifier: MIT */
/* locked: one thread pushes at both ends and takes one, another pushes a list and takes several at once. */
#include "queue-case.h"

#include "core/queues/locked.h"

static struct tn_locked_queue queue, *const q = &queue;
static struct got got[3]; /* the two threads', what is left over */

static void prepare(void)
{
    tn_locked_queue_init(q);
    for (int i = 0; i < 3; i++)
        got[i].n = 0;
}

static void *ends(void *random)
{
    case_start(random);
    tn_locked_queue_push_back(q, &node[0]);
    tn_locked_queue_push_front(q, &node[1]);
    pushed[0] = pushed[1] = true;
    note(&got[0], tn_locked_queue_pop_front(q));
    return NULL;
}

static void *batch(void *random)
{
    struct tn_list list;
    struct tn_link *link;

    case_start(random);
    tn_list_init(&list);
    tn_list_push_back(&list, &node[2]);
    tn_list_push_back(&list, &node[3]);
    tn_locked_queue_push_list(q, &list);
    pushed[2] = pushed[3] = true;
    assert(tn_locked_queue_pop_n(q, 2, &list) == 2); /* the other one takes no more than it brought */
    while ((link = tn_list_pop_front(&list)) != NULL)
        note(&got[1], link);
    return NULL;
}

static void check(void)
{
    struct tn_link *link;

    assert(got[0].n == 1);
    assert(tn_locked_queue_valid(q));
    for (int i = 0; i < 4 && (link = tn_locked_queue_pop_front(q)) != NULL; i++)
        note(&got[2], link);
    check_once(got, 3);
    assert(tn_locked_queue_valid(q) && tn_locked_queue_length(q) == 0);
}

CASE_MAIN(prepare, check, ends, batch)
