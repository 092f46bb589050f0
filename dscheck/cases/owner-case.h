/* SPDX-License-Identifier: MIT */
/*
 * What the cases on core/sync/mutex.c as a whole share: its kinds and designs, above the word of mutexword.h.
 */
#ifndef OWNER_CASE_H
#define OWNER_CASE_H

#include "list-case.h"

static _Thread_local int case_thread; /* which one, from 0 */

static inline struct tn_scope *tn_scope_self(void)
{
    return NULL;
}

int tn_cancelled(void)
{
    return 0;
}

void tn_yield(void)
{
    sched_yield();
}

bool tn_token_fired(const tn_token *t)
{
    return t == NULL;
}

#include "queues/link.h"

/* An owner has a line of its own (mutex.c), and a pthread_t need not be one. */
#define tn_caller() ((uintptr_t)(1 + case_thread) * TN_CACHE_LINE)

#define TN_LOCK_CHECK 0
#define TN_MUTEX      TN_MUTEX_BLOCK

#include "sync/mutex.c"

static tn_mutex mutex;
static int inside, sum; /* plain: whoever is inside is alone */

static inline void begin(int design, int kind)
{
    assert(tn_mutex_init(&mutex, &(struct tn_mutex_attr){.design = design, .kind = kind}) == 0);
    inside = sum = 0;
}

static inline void use(void)
{
    assert(inside++ == 0);
    case_pause();
    sum++;
    inside--;
}

static inline void expect(int least, int most)
{
    assert(sum >= least && sum <= most);
    assert(tn_mutex_destroy(&mutex) == 0 && (word_of(&mutex)->word & OWNER_ALL) == 0);
}

#endif
