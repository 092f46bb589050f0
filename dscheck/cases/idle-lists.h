/* SPDX-License-Identifier: MIT */
/* The lists of the idle and the busy (core/idle.h) with WORKERS on them, all busy: for the cases that walk or wake. */
#ifndef IDLE_LISTS_H
#define IDLE_LISTS_H

#include "idle.h"

static struct tn_idle idle;
static _Atomic(uint32_t) hungry, busy;
static struct tn_idle_slot slot[WORKERS];

static void prepare_lists(void)
{
    memset(&idle, 0, sizeof(idle));
    memset(slot, 0, sizeof(slot));
    idle.hungry = &hungry;
    idle.n_busy = &busy;
    atomic_init(&hungry, 0);
    atomic_init(&busy, 0);
    for (int i = 0; i < WORKERS; i++)
        tn_idle_join(&idle, &slot[i]);
}

#endif
