/* SPDX-License-Identifier: MIT */
/*
 * What the cases on core/sync/mutexword.h share: threads that lock as core/sync/mutex.c does, and wait as its plain threads
 * do.
 */
#ifndef MUTEX_CASE_H
#define MUTEX_CASE_H

#include "protocol-case.h"

#include "sync/mutexword.h"

static bool tn_claim(struct tn_node *node, struct tn_claimed *claimed)
{
    return tn_thread_claim(node, claimed);
}

static inline void lock(struct tn_mutexword *m)
{
    struct tn_node node = {.caller = 0};
    for (bool before = false;; before = true) {
        tn_node_fresh(&node);
        if (tn_mutexword_enter(m, &node, before, 0))
            return;
        unsigned spins = 0;
        while (!tn_thread_claimed(&node))
            tn_spin_wait(&spins);
        if (node.granted)
            return;
    }
}

/* False: it was too late, at whatever moment. */
static inline bool lock_in_time(struct tn_mutexword *m)
{
    struct tn_node node = {.caller = 0};
    for (bool before = false;; before = true) {
        tn_node_fresh(&node);
        if (tn_mutexword_enter(m, &node, before, 0))
            return true;
        case_pause();
        if (tn_thread_gives_up(&node)) {
            tn_mutexword_leave(m, &node);
            assert(node.next == NULL); /* it is about to be gone */
            return false;
        }
        if (node.granted)
            return true;
    }
}

static inline bool barging(const struct tn_node *node, unsigned how)
{
    (void)node, (void)how;
    return false;
}

static inline bool baton(const struct tn_node *node, unsigned how)
{
    (void)node, (void)how;
    return true;
}

static inline void unlock(struct tn_mutexword *m, bool (*hands_over)(const struct tn_node *, unsigned))
{
    tn_mutexword_release(m, 0, hands_over, 0); /* who was claimed looks by itself */
}

#ifdef HOW /* the cases in which threads use one mutex, given back by HOW; at first a holder has it */

static struct tn_mutexword mutex;
static int inside, sum; /* plain: whoever is inside is alone */

static inline void prepare(void)
{
    memset(&mutex, 0, sizeof(mutex));
    lock(&mutex); /* as the holder's */
    inside = sum = 0;
}

static inline void use(void)
{
    assert(inside++ == 0);
    case_pause();
    sum++;
    inside--;
    unlock(&mutex, HOW);
}

static inline void *holder(void *random)
{
    case_start(random);
    use();
    return case_end();
}

static inline void *locker(void *random)
{
    case_start(random);
    lock(&mutex);
    use();
    return case_end();
}

static inline void *late(void *random)
{
    case_start(random);
    if (lock_in_time(&mutex))
        use();
    return case_end();
}

static inline void expect(int least, int most)
{
    assert(sum >= least && sum <= most);
    assert(atomic_load(&mutex.word) == 0 && mutex.ring == NULL);
}

#endif
#endif
