/* SPDX-License-Identifier: MIT */
/* idle: who waits in the poller is woken for what was made ready, and goes to work, while another worker becomes idle. */
enum { WORKERS = 2 };

#include "poll-case.h"

static void prepare(void)
{
    prepare_poll(true);
    bool turn = tn_idle_poll_begin(&idle);
    assert(turn);
    tn_idle_announce(&idle, &slot[0], TN_SLOT_POLLING);
    tn_idle_search_begin(&idle); /* the second */
}

static void *waker(void *random)
{
    case_start(random);
    wake(&slot[0]);
    return case_end();
}

static void *first(void *random)
{
    case_start(random);
    while (atomic_load_explicit(&slot[0].word, memory_order_acquire) == TN_SLOT_POLLING)
        tn_park(&slot[0].word, TN_SLOT_POLLING, CASE_FOREVER);
    bool withdrawn = tn_idle_withdraw(&idle, &slot[0]);
    assert(!withdrawn);
    tn_idle_poll_end(&idle);
    search_over(); /* and is busy for ever */
    return case_end();
}

static void *second(void *random)
{
    case_start(random);
    becomes_idle(1);
    return case_end();
}

CASE_MAIN(prepare, check, waker, first, second)
