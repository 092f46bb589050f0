/* SPDX-License-Identifier: MIT */
/* mpsc_stub: the consumer takes what was the last item while another one comes; see mpsc-case.h. */
#include "queue-case.h"

#include "core/queues/mpsc_stub.h"

static struct tn_mpsc_stub queue;

static void mpsc_init(void)
{
    tn_mpsc_stub_init(&queue);
}
static void mpsc_push(int n)
{
    tn_mpsc_stub_push(&queue, &node[n]);
}
static void *mpsc_pop(void)
{
    return tn_mpsc_stub_pop(&queue);
}
static bool mpsc_empty(void)
{
    return tn_mpsc_stub_empty(&queue);
}

#include "mpsc-case.h"

CASE_MAIN(mpsc_last, mpsc_check, mpsc_one, mpsc_consumer)
