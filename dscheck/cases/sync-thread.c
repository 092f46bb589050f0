/* SPDX-License-Identifier: MIT */
/*
 * Plain threads that wait: one for ever, one until a deadline that comes at whatever moment; both are claimed and woken. Who was
 * claimed says so, nobody sleeps on, and what has returned is touched no more.
 */
#include "protocol-case.h"

#include "sync/threadwait.h"

bool tn_token_fired(const tn_token *t)
{
    return t == NULL;
}

static bool tn_claim(struct tn_node *node, struct tn_claimed *claimed)
{
    return tn_thread_claim(node, claimed);
}

static struct tn_node *node[2];
static pthread_mutex_t ring; /* who is in it */
static int claimed_late, told_late;

static void prepare(void)
{
    pthread_mutex_init(&ring, NULL);
    atomic_store(&case_clock, 0);
    claimed_late = told_late = 0;
    for (int i = 0; i < 2; i++) {
        node[i] = calloc(1, sizeof(*node[i]));
        assert(node[i] != NULL);
        tn_node_fresh(node[i]);
    }
}

static void *for_ever(void *random)
{
    struct tn_node *mine = node[0];
    case_start(random);
    assert(tn_thread_wait(mine, CASE_FOREVER, NULL) == 0);
    free(mine);
    return case_end();
}

static void *late(void *random)
{
    case_start(random);
    int rc = tn_thread_wait(node[1], 5, NULL);
    assert(rc == 0 || rc == ETIMEDOUT);
    pthread_mutex_lock(&ring); /* as who gives up does, before its node is gone */
    told_late = rc == 0;
    free(node[1]);
    node[1] = NULL;
    pthread_mutex_unlock(&ring);
    return case_end();
}

static void *claims(void *random)
{
    case_start(random);
    for (int i = 0; i < 2; i++) {
        struct tn_claimed claimed = {NULL, NULL};
        pthread_mutex_lock(&ring);
        bool can = node[i] != NULL && tn_claim(node[i], &claimed);
        if (i == 1)
            claimed_late = can;
        pthread_mutex_unlock(&ring);
        if (claimed.thread != NULL)
            tn_unpark(claimed.thread, 1);
    }
    return case_end();
}

static void check(void)
{
    assert(claimed_late == told_late);
}

CASE_MAIN(prepare, check, for_ever, late, claims)
