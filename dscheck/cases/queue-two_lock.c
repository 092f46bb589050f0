/* SPDX-License-Identifier: MIT */
/* two_lock: the last item is taken, by way of the stub, while another one comes and another consumer looks. */
#include "queue-case.h"

#include "core/queues/two_lock.h"

static struct tn_two_lock queue, *const q = &queue;
static struct got got[4]; /* the three threads', what is left over */

static void prepare(void)
{
    tn_two_lock_init(q);
    for (int i = 0; i < 4; i++)
        got[i].n = 0;
    tn_two_lock_push(q, &node[0]);
    pushed[0] = true;
}

static void *producer(void *random)
{
    case_start(random);
    tn_two_lock_push(q, &node[1]);
    pushed[1] = true;

    note(&got[0], tn_two_lock_pop(q));
    return NULL;
}
static void *consumer1(void *random)
{
    case_start(random);
    note(&got[1], tn_two_lock_pop(q));
    return NULL;
}
static void *consumer2(void *random)
{
    case_start(random);
    note(&got[2], tn_two_lock_pop(q));
    return NULL;
}

static void check(void)
{
    void *item;

    assert(got[0].n == 1 || got[1].n + got[2].n == 2); /* nobody is told *empty* past an item */
    for (int i = 0; i < 3 && (item = tn_two_lock_pop(q)) != NULL; i++)
        note(&got[3], item);
    check_once(got, 4);
    assert(tn_two_lock_empty(q) && tn_two_lock_pop(q) == NULL);
    tn_two_lock_push(q, &node[0]);
    assert(!tn_two_lock_empty(q) && tn_two_lock_pop(q) == &node[0] && tn_two_lock_empty(q));
}

CASE_MAIN(prepare, check, producer, consumer1, consumer2)
