/* SPDX-License-Identifier: MIT */
/*
 * Closed under one that registers it for one event (trigger=level), while that event may be on its way: it does so before, or is told; and
 * the number's next owner is registered by what it says alone, whenever the other one's event is told.
 */
#include "level-case.h"

static void *registers(void *random)
{
    case_start(random);
    int rc = descriptor_arm(the_descriptor, FD, TN_WAY_IN, 0);
    assert(rc == 0 || rc == ECANCELED);
    return case_end();
}

/* Nothing is registered any more. */
static int is_closed(int fd)
{
    uint32_t k = atomic_load_explicit(&kernel, memory_order_relaxed);
    assert(fd == FD);
    do
        assert((k & 3 * ASKED) == 0);
    while (!atomic_compare_exchange_strong_explicit(&kernel, &k, (k & 3 * ENDED) | CLOSED, memory_order_relaxed,
                                                    memory_order_relaxed));
    return 0;
}

static void *closes(void *random)
{
    case_start(random);
    io_close(FD, is_closed);
    assert(is_known() && io_generation(FD) == 1);
    assert(calls(TN_WAY_IN, 1, true) == 0);
    kernel_tells(ENDED);
    return case_end();
}

static void *poller(void *random)
{
    unsigned spins = 0;
    case_start(random);
    polls();
    while ((atomic_load_explicit(&kernel, memory_order_relaxed) & CLOSED) == 0)
        tn_spin_wait(&spins);
    kernel_tells(BYTE);
    polls_on(1);
    return case_end();
}

static void prepare(void)
{
    open_descriptor();
    kernel_tells(BYTE);
}

CASE_MAIN(prepare, all_agree, registers, closes, poller)
