/* SPDX-License-Identifier: MIT
 *
 * What the two files of the suite of queues share: test_queues.c, the bodies for all; test_queues_own.c, what is one's own.
 */
#ifndef TEST_QUEUES_H
#define TEST_QUEUES_H

#define TN_QUEUES_STANDALONE

#include <CUnit/Basic.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/workloads/queue_faces.h"

extern uint64_t seed;

static inline uint64_t next_random(uint64_t *state) /* SplitMix64 */
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline void *make(const struct queue_face *a, size_t capacity)
{
    size_t bytes = (a->bytes(capacity) + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
    void *q = aligned_alloc(TN_CACHE_LINE, bytes);

    if (q == NULL)
        abort();
    memset(q, 0xa5, bytes); /* init must not count on zeroes */
    a->init(q, capacity);
    return q;
}

enum { MANY = 64 };

/* Each is a test of its own. */
void test_list(void);
void test_push_list(void);
void test_push_n(void);
void test_deque(void);
void test_mpmc_balances(void);
void test_spinlock(void);

#endif
