/* SPDX-License-Identifier: MIT */
/*
 * What the cases on core/sync/group.c share: members are threads, of which each knows its own scope, and a token is a flag.
 */
#ifndef GROUP_CASE_H
#define GROUP_CASE_H

#include "list-case.h"

#include "tenter_group.h"

static _Thread_local struct tn_scope *own;

static inline struct tn_scope *tn_scope_self(void)
{
    return own;
}

static _Atomic(bool) *flag_of(const tn_token *t)
{
    return (_Atomic(bool) *)(uintptr_t)t;
}

void tn_token_init(tn_token *t)
{
    atomic_init(flag_of(t), false);
}

/* What it fires must still be there. */
void tn_token_fire(tn_token *t)
{
    case_pause();
    atomic_store_explicit(flag_of(t), true, memory_order_release); /* CG0 release */
}

bool tn_token_fired(const tn_token *t)
{
    return atomic_load_explicit(flag_of(t), memory_order_acquire); /* CG0 acquire */
}

#include "sync/gates.c"
#include "sync/group.c"
#include "sync/semaphore.c"

#endif
