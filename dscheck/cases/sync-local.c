/* SPDX-License-Identifier: MIT */
/*
 * The mutex of one worker's fibres. Its fibres take turns on one thread, here by calls from where one of them waits; what comes
 * from elsewhere is that a wait is over, at any moment. Whoever gave up is not made the holder, and is out of the ring.
 */
#include "protocol-case.h"

#define TN_SYNC_WAITING_H
#include "sync/waiters.h"

#include "tenter_sync.h"

struct fibre {
    int number;
};
struct worker {
    struct {
        tn_cluster *cluster;
    } pub;
    struct fibre *current;
};

static struct fibre a, b, c;
static struct worker one;
static tn_local_mutex mutex;
static _Atomic(uint32_t) word; /* of the wait */
static bool a_holds;

void *tn_self(void)
{
    return &one;
}

unsigned tn_workers(const tn_cluster *cluster)
{
    return cluster != NULL;
}

bool tn_cancel_mask(bool masked)
{
    return masked;
}

static inline bool tn_claim(struct tn_node *node, struct tn_claimed *claimed)
{
    return tn_thread_claim(node, claimed);
}

static inline void tn_resume(struct tn_claimed claimed)
{
    (void)claimed; /* it runs when the other has returned */
}

static inline void tn_node_open(struct tn_node *node)
{
    tn_node_fresh(node);
    node->thread = &word;
    atomic_store(&word, TN_NODE_WAITS);
}

static void a_unlocks(void)
{
    one.current = &a;
    a_holds = false;
    assert(tn_local_mutex_unlock(&mutex) == 0);
    one.current = &b;
}

/* The other fibre runs, unless it is over at once. */
static inline int tn_node_wait(struct tn_node *node, const char *what, const void *object, tn_time deadline,
                               tn_token *token)
{
    (void)what, (void)object, (void)deadline, (void)token;
    if (atomic_load(&word) == TN_NODE_OVER)
        return ETIMEDOUT;
    a_unlocks();
    return tn_thread_claimed(node) ? 0 : ETIMEDOUT;
}

#define TN_LOCK_CHECK 0
static inline void tn_has(int more)
{
    (void)more;
}
#include "sync/local_mutex.c"

static void prepare(void)
{
    one.pub.cluster = (tn_cluster *)(void *)&one;
    one.current = &a;
    assert(tn_local_mutex_init(&mutex, one.pub.cluster) == 0);
    atomic_init(&word, TN_NODE_OVER);
}

static void *works(void *random)
{
    case_start(random);
    a_holds = tn_local_mutex_lock(&mutex) == 0;
    one.current = &b;
    int rc = tn_local_mutex_lock_until(&mutex, 1, NULL);
    assert(mutex.ring == NULL);
    if (rc == 0) {
        assert(!a_holds && mutex.holder == &b);
        assert(tn_local_mutex_unlock(&mutex) == 0);
    } else if (a_holds) {
        a_unlocks();
    }
    one.current = &c;
    assert(tn_local_mutex_lock(&mutex) == 0); /* free again */
    return case_end();
}

/* A timer, or a token, from another thread. */
static void *ends(void *random)
{
    case_start(random);
    uint32_t waits = TN_NODE_WAITS;
    atomic_compare_exchange_strong(&word, &waits, TN_NODE_OVER);
    return case_end();
}

static void check(void)
{
    assert(mutex.holder == &c && mutex.ring == NULL);
}

CASE_MAIN(prepare, check, works, ends)
