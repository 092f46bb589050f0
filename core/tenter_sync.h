/* SPDX-License-Identifier: MIT
 *
 * What fibres and plain threads wait for each other with. Each function may be called by both: a fibre that waits leaves
 * its worker to others, a thread that waits is blocked itself. Names and contracts follow pthreads: 0 or an errno value.
 * In each, a `deadline` is a time of tn_now()'s clock, TN_FOREVER for none, and a `token` may be NULL; a call that fails
 * with ETIMEDOUT or ECANCELED has done nothing. All are objects of the caller's memory without anything behind them:
 * TN_…_INIT and tn_…_init are the same, and destroying only looks whether somebody still waits.
 */
#ifndef TENTER_SYNC_H
#define TENTER_SYNC_H

#include "tenter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- promise -- */

/* A value that comes once, and any number that wait for it (003 §4.4.5). 16 bytes. */
typedef struct tn_promise {
    uint64_t word;
    void *value;
} tn_promise;

#define TN_PROMISE_INIT \
    {                   \
        0, NULL         \
    }

/* Who: any, before use. Blocks: no. */
TN_API void tn_promise_init(tn_promise *p);
/* Who: any. Blocks: no. Errors: EBUSY somebody waits for it. */
TN_API int tn_promise_destroy(tn_promise *p);

/* Keep it: from now on its value is `value`, and who waits goes on. When somebody can have the value, no more is done to
 * the promise: who gets it may destroy it. Who: any. Blocks: no. Errors: EALREADY somebody has, or is about to. */
TN_API int tn_promise_set(tn_promise *p, void *value);
/* Its value; what was done before the call that set it is done for who gets it. Waits until somebody sets it, for ever
 * if nobody does. Who: any. Blocks; the fibre may go on on another worker. */
TN_API void *tn_promise_get(tn_promise *p);
/* The same without waiting; `value` may be NULL. Who: any. Blocks: no. Errors: EBUSY nobody has set it yet. */
TN_API int tn_promise_tryget(tn_promise *p, void **value);

/* ------------------------------------------------------------------------------------------------ mutex -- */

/* 16 bytes. */
typedef struct tn_mutex {
    uint64_t word;
    void *ring;
} tn_mutex;

/* What happens to who finds it held, and who is next (000 §3.3, the barging spectrum of fig. 3.4). With barging whoever
 * comes by when the mutex is given back may have it, also before those that have waited. */
enum {
    TN_MUTEX_DEFAULT,    /* the build's: -Dmutex=… */
    TN_MUTEX_SPIN,       /* looks again and again, and yields now and then: all barge */
    TN_MUTEX_SPIN_BLOCK, /* looks some time, then waits as under TN_MUTEX_BLOCK */
    TN_MUTEX_BLOCK,      /* waits at once; giving it back wakes the first, who has to get it then as anybody else */
    TN_MUTEX_FAIR,       /* the same; but who has waited for a millisecond is handed it */
    TN_MUTEX_BATON       /* giving it back hands it to the first that waits: nobody barges */
};

enum {
    TN_MUTEX_NORMAL,    /* taking it twice waits for ever; giving back what one does not hold must not be */
    TN_MUTEX_RECURSIVE, /* its holder may take it again, up to 2^14 times */
    TN_MUTEX_CHECKED    /* both of these are errors */
};

struct tn_mutex_attr {
    int design, kind;
};

/* Of the default design, normal. */
#define TN_MUTEX_INIT \
    {                 \
        0, NULL       \
    }

/* `attr` may be NULL. Who: any, before use. Blocks: no. Errors: EINVAL there is no such design or kind. */
TN_API int tn_mutex_init(tn_mutex *m, const struct tn_mutex_attr *attr);
/* Who: any. Blocks: no. Errors: EBUSY somebody has it, or waits for it. */
TN_API int tn_mutex_destroy(tn_mutex *m);

/* Who: any. Blocks; the fibre may go on on another worker. Errors: EDEADLK (checked) the caller has it already; EAGAIN
 * (recursive) too often. */
TN_API int tn_mutex_lock(tn_mutex *m);
/* Who: any; a plain thread that waits sees its token fire within a millisecond. Blocks; the fibre may go on on another
 * worker. Errors: as tn_mutex_lock, and ETIMEDOUT, ECANCELED, ENOMEM as tn_wait. What is free is taken, whatever the
 * deadline and the token. */
TN_API int tn_mutex_lock_until(tn_mutex *m, tn_time deadline, tn_token *token);
/* Who: any. Blocks: no. Errors: EBUSY somebody has it, with a checked one also the caller; EAGAIN as tn_mutex_lock. */
TN_API int tn_mutex_trylock(tn_mutex *m);
/* The calling fibre or thread must hold it. When others may have it, no more is done to its memory: who gets it may
 * destroy it. Who: any. Blocks: no. Errors: EPERM (recursive, checked) the caller does not have it. */
TN_API int tn_mutex_unlock(tn_mutex *m);

#ifdef __cplusplus
}
#endif
#endif
