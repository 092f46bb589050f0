/* SPDX-License-Identifier: MIT */
/* multiqueue: one queue, whose buffers are filled from the heap and emptied into it while another thread takes. */
#include "multiqueue-case.h"

static void prepare(void)
{
    multi_fresh(1, 2);
    for (int i = 0; i < 5; i++)
        multi_push(0, i, (uint64_t)(7 * i % 5));
}

static void *pusher(void *random)
{
    case_start(random);
    multi_push(0, 5, 0);
    multi_push(0, 6, 9);
    return NULL;
}

static void *popper(void *random)
{
    case_start(random);
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        struct tn_multi_node *n = multi_pop(1);
        assert(n != NULL && (n->key >= last || n->key == 0)); /* in order; 0 has come meanwhile */
        last = n->key;
    }
    return NULL;
}

static void check(void)
{
    multi_check(3, 7);
}

CASE_MAIN(prepare, check, pusher, popper)
