/* SPDX-License-Identifier: MIT
 *
 * How a plain thread waits for its node's claim (waiters.h). No more of the core is in here, so that the explorer takes this
 * file as it is.
 *
 * Proof. 1. Of a claim and of giving up one decides the word at which the thread sleeps, and who was claimed says so, whatever
 * the time: what it was granted is not lost. 2. It sleeps only while the word says that it waits, and whoever claims changes
 * that before it wakes the thread: no wake-up is lost. 3. Who claims does not touch the node afterwards: to wake whoever
 * sleeps at an address that is gone does nothing.
 */
#ifndef TN_SYNC_THREADWAIT_H
#define TN_SYNC_THREADWAIT_H

#include "platform.h"
#include "waiters.h"

#include <errno.h>

/* A thread is in no token's list: it looks at its token now and then. */
enum { TN_LOOK_NS = 1000000 };

static inline int tn_thread_wait(struct tn_node *node, tn_time deadline, tn_token *token)
{
    for (;;) {
        if (tn_thread_claimed(node))
            return 0;
        tn_time now = tn_now();
        int over = token != NULL && tn_token_fired(token) ? ECANCELED : now >= deadline ? ETIMEDOUT : 0;
        if (over != 0)
            return tn_thread_gives_up(node) ? over : 0;
        tn_time until = token == NULL || deadline - now <= TN_LOOK_NS ? deadline : now + TN_LOOK_NS;
        tn_park(node->thread, TN_NODE_WAITS, until);
    }
}

#endif
