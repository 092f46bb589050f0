/* SPDX-License-Identifier: MIT */
/*
 * Condition variable: who was woken by the signal frees it, without having waited for who sent that.
 */
#include "list-case.h"

#include "sync/cond.c"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static tn_cond *cond;
static int told; /* under the mutex */
static bool freed;

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

static void prepare(void)
{
    cond = malloc(sizeof(*cond));
    assert(cond != NULL);
    tn_cond_init(cond);
    told = 0;
    freed = false;
}

static void *waits(void *random)
{
    case_start(random);
    tn_mutex_lock(NULL);
    if (told == 0) {
        assert(tn_cond_wait(cond, NULL) == 0);
        assert(told == 1);
        freed = true;
    }
    tn_mutex_unlock(NULL);
    if (freed)
        free(cond);
    return case_end();
}

static void *tells(void *random)
{
    case_start(random);
    tn_mutex_lock(NULL);
    told = 1;
    tn_mutex_unlock(NULL);
    tn_cond_signal(cond);
    return case_end();
}

static void check(void)
{
    if (!freed)
        free(cond);
}

CASE_MAIN(prepare, check, waits, tells)
