/* SPDX-License-Identifier: MIT
 *
 * One face for all queues of core/queues, and the items that test_queues.c sends through them.
 */
#ifndef QUEUE_ADAPTERS_H
#define QUEUE_ADAPTERS_H

#include <CUnit/Basic.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/queues/link.h"
#include "core/queues/locked.h"
#include "core/queues/mpmc_ring.h"
#include "core/queues/spinlock.h"
#include "core/queues/spmc_deque.h"
#include "core/queues/spmc_fifo.h"
#include "core/queues/spmc_lifo.h"

static uint64_t seed;

static uint64_t next_random(uint64_t *state) /* SplitMix64 */
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* What is queued: `link` is first, so that an item's address is its link's. */
struct item {
    struct tn_link link;
    uint32_t producer, id;
};

static struct item *item_of(void *p)
{
    return p;
}

/* ---- adapters ---- */

struct adapter {
    const char *name;
    bool lifo; /* the owner's pop takes the newest */
    bool bounded;
    bool shared;  /* any thread pushes and pops; else one owner does, and the others take */
    bool halves;  /* take() leaves half, rounded down */
    bool ordered; /* each taker sees each producer's items in the order of their pushes, always */
    size_t (*bytes)(size_t capacity);
    void (*init)(void *q, size_t capacity);
    bool (*push)(void *q, void *item);
    void *(*pop)(void *q);
    size_t (*take)(void *q, size_t max, void *out[]);
    size_t (*length)(void *q);
    bool (*valid)(void *q);
};

/* The functions t_... with a plain void pointer in front, as s_...; `b` is the body of take. */
#define ADAPT(t, b, s)                                       \
    static void s##_init(void *q, size_t capacity)           \
    {                                                        \
        t##_init(q, capacity);                               \
    }                                                        \
    static bool s##_push(void *q, void *item)                \
    {                                                        \
        return t##_push(q, item);                            \
    }                                                        \
    static void *s##_pop(void *q)                            \
    {                                                        \
        return t##_pop(q);                                   \
    }                                                        \
    static size_t s##_take(void *q, size_t max, void *out[]) \
    {                                                        \
        return b;                                            \
    }                                                        \
    static size_t s##_length(void *q)                        \
    {                                                        \
        return t##_length(q);                                \
    }                                                        \
    static bool s##_valid(void *q)                           \
    {                                                        \
        return t##_valid(q);                                 \
    }

static size_t take_one(struct tn_mpmc_ring *q, size_t max, void *out[])
{
    return max > 0 && (out[0] = tn_mpmc_pop(q)) != NULL;
}

ADAPT(tn_mpmc, take_one(q, max, out), mpmc)
ADAPT(tn_spmc_fifo, tn_spmc_fifo_steal(q, max, out), fifo)
ADAPT(tn_spmc_lifo, tn_spmc_lifo_steal(q, max, out), lifo)

/* As a stack; and as a queue, upside down from the start. */
ADAPT(tn_spmc_deque, tn_spmc_deque_steal(q, max, out), deque)
static void *deque_bottom(void *q)
{
    return tn_spmc_deque_pop_bottom(q);
}
static void deque_init_reversed(void *q, size_t capacity)
{
    tn_spmc_deque_init(q, capacity);
    tn_spmc_deque_reverse(q);
}

static size_t locked_bytes(size_t capacity)
{
    return (void)capacity, sizeof(struct tn_locked_queue);
}
static void locked_init(void *q, size_t capacity)
{
    (void)capacity;
    tn_locked_queue_init(q);
}
static bool locked_push_back(void *q, void *item)
{
    return tn_locked_queue_push_back(q, item), true;
}
static bool locked_push_front(void *q, void *item)
{
    return tn_locked_queue_push_front(q, item), true;
}
static void *locked_pop(void *q)
{
    return tn_locked_queue_pop_front(q);
}
static size_t locked_length(void *q)
{
    return tn_locked_queue_length(q);
}
static bool locked_valid(void *q)
{
    return tn_locked_queue_valid(q);
}

static size_t locked_take(void *q, size_t max, void *out[])
{
    struct tn_list list;
    size_t n;

    tn_list_init(&list);
    n = tn_locked_queue_pop_n(q, max, &list);
    if (n != list.count || !tn_list_valid(&list))
        abort(); /* not CU_ASSERT: stress takes from several threads, which CUnit does not expect */
    for (size_t i = 0; i < n; i++)
        out[i] = tn_list_pop_front(&list);
    return n;
}

static const struct adapter adapters[] = {
    {.name = "mpmc_ring",
     .bounded = true,
     .shared = true,
     .bytes = tn_mpmc_bytes,
     .init = mpmc_init,
     .push = mpmc_push,
     .pop = mpmc_pop,
     .take = mpmc_take,
     .length = mpmc_length,
     .valid = mpmc_valid},
    {.name = "spmc_fifo",
     .bounded = true,
     .halves = true,
     .ordered = true,
     .bytes = tn_spmc_fifo_bytes,
     .init = fifo_init,
     .push = fifo_push,
     .pop = fifo_pop,
     .take = fifo_take,
     .length = fifo_length,
     .valid = fifo_valid},
    {.name = "spmc_lifo",
     .lifo = true,
     .bounded = true,
     .halves = true,
     .bytes = tn_spmc_lifo_bytes,
     .init = lifo_init,
     .push = lifo_push,
     .pop = lifo_pop,
     .take = lifo_take,
     .length = lifo_length,
     .valid = lifo_valid},
    {.name = "locked, FIFO",
     .shared = true,
     .ordered = true,
     .bytes = locked_bytes,
     .init = locked_init,
     .push = locked_push_back,
     .pop = locked_pop,
     .take = locked_take,
     .length = locked_length,
     .valid = locked_valid},
    {.name = "locked, LIFO",
     .lifo = true,
     .shared = true,
     .bytes = locked_bytes,
     .init = locked_init,
     .push = locked_push_front,
     .pop = locked_pop,
     .take = locked_take,
     .length = locked_length,
     .valid = locked_valid},
    {.name = "spmc_deque, as a stack",
     .lifo = true,
     .bounded = true,
     .halves = true,
     .bytes = tn_spmc_deque_bytes,
     .init = deque_init,
     .push = deque_push,
     .pop = deque_pop,
     .take = deque_take,
     .length = deque_length,
     .valid = deque_valid},
    {.name = "spmc_deque, as a queue, reversed",
     .bounded = true,
     .halves = true,
     .ordered = true,
     .bytes = tn_spmc_deque_bytes,
     .init = deque_init_reversed,
     .push = deque_push,
     .pop = deque_bottom,
     .take = deque_take,
     .length = deque_length,
     .valid = deque_valid},
};

static void *make(const struct adapter *a, size_t capacity)
{
    size_t bytes = (a->bytes(capacity) + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
    void *q = aligned_alloc(TN_CACHE_LINE, bytes);

    if (q == NULL)
        abort();
    memset(q, 0xa5, bytes); /* init must not count on zeroes */
    a->init(q, capacity);
    return q;
}

#endif
