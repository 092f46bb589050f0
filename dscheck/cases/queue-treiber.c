/* SPDX-License-Identifier: MIT */
/* treiber: one thread pushes twice, one pops twice, one does both. */
#include "queue-case.h"

#include "core/queues/treiber.h"

static struct tn_treiber queue, *const q = &queue;
static struct tn_treiber_link link[ITEMS]; /* link[i] stands for node[i] */
static struct got got[4];                  /* the three threads', what is left over */

static void push(int n)
{
    tn_treiber_push(q, &link[n]);
}

static void *pop(void)
{
    struct tn_treiber_link *l = tn_treiber_pop(q);

    return l == NULL ? NULL : &node[l - link];
}

static void rest(void)
{
    void *item;

    for (int i = 0; i < 5 && (item = pop()) != NULL; i++)
        note(&got[3], item);
    check_once(got, 4);
    assert(tn_treiber_empty(q) && pop() == NULL);
}

static void prepare(void)
{
    tn_treiber_init(q);
    for (int i = 0; i < 4; i++)
        got[i].n = 0;
}

static void *pusher(void *random)
{
    case_start(random);
    push(0);
    push(1);
    pushed[0] = pushed[1] = true;
    return NULL;
}
static void *popper(void *random)
{
    case_start(random);
    note(&got[1], pop());
    note(&got[1], pop());
    return NULL;
}
static void *both(void *random)
{
    case_start(random);
    push(2);
    pushed[2] = true;
    note(&got[2], pop());
    return NULL;
}

static void check(void)
{
    assert(got[2].n == 1 || got[1].n != 0); /* nobody is told *empty* past an item */
    rest();
}

CASE_MAIN(prepare, check, pusher, popper, both)
