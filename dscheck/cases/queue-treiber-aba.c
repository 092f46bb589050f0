/* SPDX-License-Identifier: MIT */
/* treiber: a node is popped, its successor too, and pushed again, while another thread is about to pop it (ABA). */
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
    for (int i = 2; i >= 0; i--)
        push(i);
    pushed[0] = pushed[1] = pushed[2] = true;
}

static void *slow(void *random)
{
    case_start(random);
    note(&got[0], pop());
    return NULL;
}

static void *fast(void *random)
{
    case_start(random);
    void *first = pop();
    note(&got[1], pop());
    if (first != NULL)
        push((int)((struct tn_link *)first - node));
    return NULL;
}

CASE_MAIN(prepare, rest, slow, fast)
