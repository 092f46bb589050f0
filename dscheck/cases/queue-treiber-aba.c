/* SPDX-License-Identifier: MIT */
/* treiber: a node is popped, its successor too, and pushed again, while another thread is about to pop it (ABA). */
#include "treiber-case.h"

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
