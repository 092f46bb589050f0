/* SPDX-License-Identifier: MIT */
/*
 * What the cases on core/sync/cond.c share: the mutex is the system's.
 */
#ifndef COND_CASE_H
#define COND_CASE_H

#include "list-case.h"

#include "sync/cond.c"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static tn_cond cond;
static int told; /* under the mutex */

TN_API int tn_mutex_lock(tn_mutex *m)
{
    (void)m;
    return pthread_mutex_lock(&mutex);
}

TN_API int tn_mutex_unlock(tn_mutex *m)
{
    (void)m;
    return pthread_mutex_unlock(&mutex);
}

static inline void prepare(void)
{
    tn_cond_init(&cond);
    told = 0;
}

#endif
