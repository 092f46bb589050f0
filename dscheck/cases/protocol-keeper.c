/* SPDX-License-Identifier: MIT */
/*
 * keeper: one worker arms a timer while another one stops being idle; from when both have, the keeper is needed, and
 * must not be asleep. It ends when it has seen that, so a keeper that sleeps for ever is a lost wake-up.
 *
 * The workers do what keep_time() in core/keeper.c does behind wait_registered() and search_over(), the keeper what
 * keeper_main() does, without the milliseconds.
 */
#include "protocol-case.h"

#include "keeper.h"

static struct tn_keeper k;
static _Atomic(bool) timers;   /* relaxed, as tn_timers publishes the earliest */
static _Atomic(uint32_t) idle; /* relaxed, as idle.h counts */
static bool ended;

static void prepare(void)
{
    atomic_init(&k.word, TN_KEEPER_AWAKE);
    atomic_init(&timers, false);
    atomic_init(&idle, 1);
    ended = false;
}

static bool needed(void *arg)
{
    (void)arg;
    bool is =
        atomic_load_explicit(&timers, memory_order_relaxed) && atomic_load_explicit(&idle, memory_order_relaxed) == 0;
    case_pause();
    return is;
}

static void keep_time(void)
{
    if (!atomic_load_explicit(&timers, memory_order_relaxed))
        return;
    tn_fence_light();
    if (needed(NULL))
        tn_keeper_call(&k);
}

static void *armer(void *random)
{
    case_start(random);
    atomic_store_explicit(&timers, true, memory_order_relaxed);
    tn_fence_light();
    if (atomic_load_explicit(&idle, memory_order_relaxed) == 0) /* else the idle one watches */
        keep_time();
    return case_end();
}

static void *goes_to_work(void *random)
{
    case_start(random);
    atomic_store_explicit(&idle, 0, memory_order_relaxed);
    tn_fence_light();
    keep_time();
    return case_end();
}

static void *keeper(void *random)
{
    case_start(random);
    while (!needed(NULL))
        tn_keeper_rest(&k, needed, NULL);
    ended = true;
    return case_end();
}

static void check(void)
{
    assert(ended);
    assert(atomic_load_explicit(&k.word, memory_order_relaxed) == TN_KEEPER_AWAKE);
}

CASE_MAIN(prepare, check, armer, goes_to_work, keeper)
