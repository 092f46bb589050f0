/* SPDX-License-Identifier: MIT */
/* Large: some 130 000 executions, all of which are explored where no --budget is given. */
/* locked: one thread pushes at both ends, one a list, one takes single items and several at once. */
#include "../queue-case.h"

#include "core/queues/locked.h"

static struct tn_locked_queue queue, *const q = &queue;
static struct got got[2];

static void prepare(void)
{
    tn_locked_queue_init(q);
    got[0].n = got[1].n = 0;
}

static void *ends(void *random)
{
    case_start(random);
    tn_locked_queue_push_back(q, &node[0]);
    pushed[0] = true;
    tn_locked_queue_push_front(q, &node[1]);
    pushed[1] = true;
    return NULL;
}

static void *batch(void *random)
{
    struct tn_list list;

    case_start(random);
    tn_list_init(&list);
    tn_list_push_back(&list, &node[2]);
    tn_list_push_back(&list, &node[3]);
    tn_locked_queue_push_list(q, &list);
    pushed[2] = pushed[3] = true;
    note(&got[1], tn_locked_queue_pop_front(q));
    return NULL;
}

static void *taker(void *random)
{
    struct tn_list list;
    struct tn_link *link;

    case_start(random);
    tn_list_init(&list);
    note(&got[0], tn_locked_queue_pop_front(q));
    assert(tn_locked_queue_pop_n(q, 2, &list) == list.count && list.count <= 2);
    while ((link = tn_list_pop_front(&list)) != NULL)
        note(&got[0], link);
    return NULL;
}

static void check(void)
{
    struct tn_link *link;

    assert(got[1].n == 1 || got[0].n > 1); /* after its own push, batch is told *empty* only if taker took both */
    assert(tn_locked_queue_valid(q));
    for (int i = 0; i < 4 && (link = tn_locked_queue_pop_front(q)) != NULL; i++)
        note(&got[1], link);
    check_once(got, 2);
    assert(tn_locked_queue_valid(q) && tn_locked_queue_length(q) == 0);
}

CASE_MAIN(prepare, check, ends, batch, taker)
