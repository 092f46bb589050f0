/* SPDX-License-Identifier: MIT
 *
 * libck's ring for many producers and consumers and its stack, liburcu's wait-free queue and stack. An item is linked by
 * the room that crowd.c leaves behind it. See crowd_peers.h.
 *
 * Their atomics are assembly, of which the simulator sees nothing. There the compiler's own take their place: libck has that
 * as an option, in which the stack that many pop from is missing; liburcu's exchange would be a loop then, so it is named here.
 * Its stack sleeps for real where it waits, and is left out as well.
 */
#include "crowd_peers.h"

#if CROWD_CK
#define CK_USE_CC_BUILTINS CROWD_SIMULATED
#include <ck_ring.h>
#if !CROWD_SIMULATED
#include <ck_stack.h>
#endif
#endif
#if CROWD_URCU
#define URCU_INLINE_SMALL_FUNCTIONS
#if CROWD_SIMULATED
#include <sched.h>
#include <urcu/arch.h>
#define _URCU_UATOMIC_H
#include <urcu/uatomic/generic.h>
#undef uatomic_xchg
#define uatomic_xchg(at, v)       __atomic_exchange_n(at, v, __ATOMIC_SEQ_CST)
#define CDS_WFCQ_WAIT_SLEEP(msec) sched_yield()
#else
#include <urcu/wfstack.h>
#endif
#include <urcu/wfcqueue.h>
#endif

/* The room behind an item, and back. */
static inline void *link_of(void *item)
{
    return (char *)item + sizeof(struct queue_item);
}

static inline void *item_of(void *link)
{
    return link == NULL ? NULL : (char *)link - sizeof(struct queue_item);
}

#define PEER(s)                                              \
    static size_t s##_take(void *q, size_t max, void *out[]) \
    {                                                        \
        return max > 0 && (out[0] = s##_pop(q)) != NULL;     \
    }

#if CROWD_CK
struct ring {
    ck_ring_t ring;
    size_t capacity;
    _Alignas(TN_CACHE_LINE) ck_ring_buffer_t buffer[];
};

static size_t ring_bytes(size_t capacity)
{
    return sizeof(struct ring) + capacity * sizeof(ck_ring_buffer_t);
}
static void ring_init(void *q, size_t capacity)
{
    struct ring *r = q;
    r->capacity = capacity;
    ck_ring_init(&r->ring, (unsigned)capacity);
}
static bool ring_push(void *q, void *item)
{
    struct ring *r = q;
    return ck_ring_enqueue_mpmc(&r->ring, r->buffer, item);
}
static void *ring_pop(void *q)
{
    struct ring *r = q;
    void *item;
    return ck_ring_dequeue_mpmc(&r->ring, r->buffer, &item) ? item : NULL;
}
PEER(ring)
#endif

#if CROWD_CK && !CROWD_SIMULATED
static size_t stack_bytes(size_t capacity)
{
    return (void)capacity, sizeof(ck_stack_t);
}
static void stack_init(void *q, size_t capacity)
{
    (void)capacity;
    ck_stack_init(q);
}
static bool stack_push(void *q, void *item)
{
    ck_stack_push_mpmc(q, link_of(item));
    return true;
}
static void *stack_pop(void *q)
{
    return item_of(ck_stack_pop_mpmc(q));
}
PEER(stack)
#endif

#if CROWD_URCU
struct wfcq {
    struct cds_wfcq_tail tail;
    _Alignas(TN_CACHE_LINE) struct cds_wfcq_head head;
};

static size_t wfcq_bytes(size_t capacity)
{
    return (void)capacity, sizeof(struct wfcq);
}
static void wfcq_init(void *q, size_t capacity)
{
    struct wfcq *w = q;
    (void)capacity;
    cds_wfcq_init(&w->head, &w->tail);
}
static bool wfcq_push(void *q, void *item)
{
    struct wfcq *w = q;
    struct cds_wfcq_node *node = link_of(item);
    cds_wfcq_node_init(node);
    cds_wfcq_enqueue(&w->head, &w->tail, node);
    return true;
}
static void *wfcq_pop(void *q)
{
    struct wfcq *w = q;
    return item_of(__cds_wfcq_dequeue_blocking(&w->head, &w->tail));
}
PEER(wfcq)
#endif

#if CROWD_URCU && !CROWD_SIMULATED
static size_t wfs_bytes(size_t capacity)
{
    return (void)capacity, sizeof(struct cds_wfs_stack);
}
static void wfs_init(void *q, size_t capacity)
{
    (void)capacity;
    cds_wfs_init(q);
}
static bool wfs_push(void *q, void *item)
{
    struct cds_wfs_node *node = link_of(item);
    cds_wfs_node_init(node);
    cds_wfs_push((cds_wfs_stack_ptr_t){.s = q}, node);
    return true;
}
static void *wfs_pop(void *q)
{
    return item_of(cds_wfs_pop_blocking(q)); /* takes the stack's lock */
}
PEER(wfs)
#endif

#define FACE(s) .bytes = s##_bytes, .init = s##_init, .push = s##_push, .pop = s##_pop, .take = s##_take
const struct queue_face crowd_peers[] = {
#if CROWD_CK
    {.name = "ck-ring", .bounded = true, .shared = true, .one = true, FACE(ring)},
#endif
#if CROWD_CK && !CROWD_SIMULATED
    {.name = "ck-stack", .lifo = true, .shared = true, .one = true, FACE(stack)},
#endif
#if CROWD_URCU
    {.name = "urcu-wfcq", .shared = true, .one = true, .single = true, FACE(wfcq)},
#endif
#if CROWD_URCU && !CROWD_SIMULATED
    {.name = "urcu-wfs", .lifo = true, .shared = true, .one = true, FACE(wfs)},
#endif
    {.name = ""},
};
const size_t crowd_peers_n = sizeof(crowd_peers) / sizeof(crowd_peers[0]) - 1;
