/* SPDX-License-Identifier: MIT */
/* What the cases on treiber share. */
#ifndef TREIBER_CASE_H
#define TREIBER_CASE_H

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

#endif
