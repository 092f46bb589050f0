/* SPDX-License-Identifier: MIT
 *
 * All queues of core/queues by one face: for the workloads that measure them and the tests of them.
 */
#ifndef QUEUE_FACES_H
#define QUEUE_FACES_H

#include <stdlib.h>

#include "../../core/queues/chase_lev.h"
#include "../../core/queues/link.h"
#include "../../core/queues/locked.h"
#include "../../core/queues/mpmc_cas.h"
#include "../../core/queues/mpmc_fad.h"
#include "../../core/queues/mpmc_ring.h"
#include "../../core/queues/mpsc_node.h"
#include "../../core/queues/mpsc_stub.h"
#include "../../core/queues/nemesis.h"
#include "../../core/queues/spinlock.h"
#include "../../core/queues/spmc_deque.h"
#include "../../core/queues/spmc_fifo.h"
#include "../../core/queues/spmc_lifo.h"
#include "../../core/queues/treiber.h"
#include "../../core/queues/two_lock.h"
#include "queue_face.h"

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

#define ONE(t) max > 0 && (out[0] = t(q)) != NULL
ADAPT(tn_mpmc, ONE(tn_mpmc_pop), mpmc)
ADAPT(tn_mpmc_cas, ONE(tn_mpmc_cas_pop), cas)
ADAPT(tn_mpmc_fad, ONE(tn_mpmc_fad_pop), fad)
ADAPT(tn_spmc_fifo, tn_spmc_fifo_steal(q, max, out), fifo)
ADAPT(tn_spmc_lifo, tn_spmc_lifo_steal(q, max, out), lifo)

/* As a stack; and as a queue, upside down from the start. */
ADAPT(tn_spmc_deque, tn_spmc_deque_steal(q, max, out), deque)
static void *reversed_pop(void *q)
{
    return tn_spmc_deque_pop_bottom(q);
}
static void reversed_init(void *q, size_t capacity)
{
    tn_spmc_deque_init(q, capacity);
    tn_spmc_deque_reverse(q);
}
#define reversed_push   deque_push
#define reversed_take   deque_take
#define reversed_length deque_length
#define reversed_valid  deque_valid

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
        abort();
    for (size_t i = 0; i < n; i++)
        out[i] = tn_list_pop_front(&list);
    return n;
}

/* Those that take links, or count only when nobody is at work. */
static size_t stub_bytes(size_t capacity)
{
    return (void)capacity, sizeof(struct tn_mpsc_stub);
}
static void stub_init(struct tn_mpsc_stub *q, size_t capacity)
{
    (void)capacity;
    tn_mpsc_stub_init(q);
}
static bool stub_push(struct tn_mpsc_stub *q, struct queue_item *item)
{
    return tn_mpsc_stub_push(q, &item->link), true;
}
static size_t stub_length(struct tn_mpsc_stub *q)
{
    return tn_mpsc_stub_count(q);
}
static bool stub_valid(struct tn_mpsc_stub *q)
{
    size_t n = tn_mpsc_stub_count(q);
    return n != SIZE_MAX && (n == 0) == tn_mpsc_stub_empty(q);
}
#define stub_pop tn_mpsc_stub_pop
ADAPT(stub, ONE(stub_pop), stub_)

static size_t nemesis_bytes(size_t capacity)
{
    return (void)capacity, sizeof(struct tn_nemesis);
}
static void nemesis_init(struct tn_nemesis *q, size_t capacity)
{
    (void)capacity;
    tn_nemesis_init(q);
}
static bool nemesis_push(struct tn_nemesis *q, struct queue_item *item)
{
    return tn_nemesis_push(q, &item->link), true;
}
static size_t nemesis_length(struct tn_nemesis *q)
{
    return tn_nemesis_count(q);
}
static bool nemesis_valid(struct tn_nemesis *q)
{
    size_t n = tn_nemesis_count(q);
    return n != SIZE_MAX && (n == 0) == tn_nemesis_empty(q);
}
#define nemesis_pop tn_nemesis_pop
ADAPT(nemesis, ONE(nemesis_pop), nemesis_)

static size_t two_bytes(size_t capacity)
{
    return (void)capacity, sizeof(struct tn_two_lock);
}
static void two_init(struct tn_two_lock *q, size_t capacity)
{
    (void)capacity;
    tn_two_lock_init(q);
}
static bool two_push(struct tn_two_lock *q, struct queue_item *item)
{
    return tn_two_lock_push(q, &item->link), true;
}
static size_t two_count(struct tn_two_lock *q, bool *valid)
{
    size_t n = 0, stubs = 0;

    tn_spinlock_lock(&q->head_lock);
    tn_spinlock_lock(&q->tail_lock);
    struct tn_link *l = atomic_load(&q->head), *last = NULL;
    for (; l != NULL; last = l, l = l->next, n++)
        stubs += l == &q->stub;
    *valid = last == q->tail && stubs <= 1 && (n == stubs) == tn_two_lock_empty(q);
    tn_spinlock_unlock(&q->tail_lock);
    tn_spinlock_unlock(&q->head_lock);
    return n - stubs;
}
static size_t two_length(struct tn_two_lock *q)
{
    bool valid;
    return two_count(q, &valid);
}
static bool two_valid(struct tn_two_lock *q)
{
    bool valid;
    return two_count(q, &valid), valid;
}
#define two_pop tn_two_lock_pop
ADAPT(two, ONE(two_pop), two_)

static size_t treiber_bytes(size_t capacity)
{
    return (void)capacity, sizeof(struct tn_treiber);
}
static void treiber_init(struct tn_treiber *q, size_t capacity)
{
    (void)capacity;
    tn_treiber_init(q);
}
static bool treiber_push(struct tn_treiber *q, struct queue_item *item)
{
    return tn_treiber_push(q, &item->stacked), true;
}
static void *treiber_pop(struct tn_treiber *q)
{
    struct tn_treiber_link *l = tn_treiber_pop(q);
    return l == NULL ? NULL : (char *)l - offsetof(struct queue_item, stacked);
}
static size_t treiber_length(struct tn_treiber *q)
{
    size_t n = 0;
    for (struct tn_treiber_link *l = tn_treiber_node_(atomic_load(&q->top)); l != NULL; l = atomic_load(&l->next))
        n++;
    return n;
}
static bool treiber_valid(struct tn_treiber *q)
{
    return (treiber_length(q) == 0) == tn_treiber_empty(q);
}
ADAPT(treiber, ONE(treiber_pop), treiber_)

struct nodes {
    struct tn_mpsc_nodes q;
    struct tn_mpsc_node first;
};
static size_t nodes_bytes(size_t capacity)
{
    return (void)capacity, sizeof(struct nodes);
}
static void nodes_init(struct nodes *n, size_t capacity)
{
    (void)capacity;
    tn_mpsc_nodes_init(&n->q, &n->first);
}
static bool nodes_push(struct nodes *n, struct queue_item *item)
{
    return tn_mpsc_nodes_push(&n->q, item->node != NULL ? item->node : &item->own, item), true;
}
static void *nodes_pop(struct nodes *n)
{
    void *item;
    struct tn_mpsc_node *node = tn_mpsc_nodes_pop(&n->q, &item);
    if (node == NULL)
        return NULL;
    ((struct queue_item *)item)->node = node; /* instead of the one that is in front now */
    return item;
}
static size_t nodes_length(struct nodes *n)
{
    size_t count = 0;
    struct tn_mpsc_node *node = atomic_load(&n->q.front);
    while ((node = atomic_load(&node->next)) != NULL)
        count++;
    return count;
}
static bool nodes_valid(struct nodes *n)
{
    return (nodes_length(n) == 0) == tn_mpsc_nodes_empty(&n->q);
}
ADAPT(nodes, ONE(nodes_pop), nodes_)

/* Chase and Lev's: with one array, and with arrays that grow from the capacity on, each behind the one before. */
struct chase_lev {
    struct tn_chase_lev q;
    size_t used;
    _Alignas(8) unsigned char memory[1 << 21];
};
static size_t chase_bytes(size_t capacity)
{
    return (void)capacity, sizeof(struct chase_lev);
}
static void *chase_memory(struct chase_lev *c, size_t capacity)
{
    void *memory = c->memory + c->used;
    c->used += tn_chase_lev_bytes(capacity);
    if (c->used > sizeof c->memory)
        abort();
    return memory;
}
static void chase_init(struct chase_lev *c, size_t capacity)
{
    c->used = 0;
    tn_chase_lev_init(&c->q, chase_memory(c, capacity), capacity);
}
static bool chase_push(struct chase_lev *c, void *item)
{
    return tn_chase_lev_push(&c->q, item);
}
static bool grow_push(struct chase_lev *c, void *item)
{
    size_t capacity = tn_chase_lev_capacity(&c->q);
    if (tn_chase_lev_push(&c->q, item))
        return true;
    tn_chase_lev_grow(&c->q, chase_memory(c, capacity * 2), capacity * 2);
    return tn_chase_lev_push(&c->q, item);
}
static void *chase_pop(struct chase_lev *c)
{
    return tn_chase_lev_pop(&c->q);
}
static void *chase_steal(struct chase_lev *c)
{
    return tn_chase_lev_steal(&c->q);
}
static size_t chase_length(struct chase_lev *c)
{
    return tn_chase_lev_length(&c->q);
}
static bool chase_valid(struct chase_lev *c)
{
    return tn_chase_lev_valid(&c->q);
}
#define grow_init   chase_init
#define grow_pop    chase_pop
#define grow_length chase_length
#define grow_valid  chase_valid
ADAPT(chase, ONE(chase_steal), chase_)
ADAPT(grow, ONE(chase_steal), grow_)

/* The functions of ADAPT(..., s), and the number of bytes. */
#define FACE(s, b)                                                                                          \
    .bytes = b, .init = s##_init, .push = s##_push, .pop = s##_pop, .take = s##_take, .length = s##_length, \
    .valid = s##_valid

enum { RING, FIFO, LIFO, LOCKED, DEQUE }; /* those of the table that are named */
static const struct queue_face queue_faces[] = {
    [RING] = {.name = "mpmc-ring", .bounded = true, .shared = true, .one = true, FACE(mpmc, tn_mpmc_bytes)},
    [FIFO] = {.name = "spmc-fifo", .bounded = true, .halves = true, .ordered = true, FACE(fifo, tn_spmc_fifo_bytes)},
    [LIFO] = {.name = "spmc-lifo", .lifo = true, .bounded = true, .halves = true, FACE(lifo, tn_spmc_lifo_bytes)},
    [LOCKED] = {.name = "locked",
                .shared = true,
                .ordered = true,
                .bytes = locked_bytes,
                .init = locked_init,
                .push = locked_push_back,
                .pop = locked_pop,
                .take = locked_take,
                .length = locked_length,
                .valid = locked_valid},
    [DEQUE] = {.name = "spmc-deque", .lifo = true, .bounded = true, .halves = true, FACE(deque, tn_spmc_deque_bytes)},
    {.name = "spmc-deque, reversed",
     .bounded = true,
     .halves = true,
     .ordered = true,
     FACE(reversed, tn_spmc_deque_bytes)},
    {.name = "locked-lifo",
     .lifo = true,
     .shared = true,
     .bytes = locked_bytes,
     .init = locked_init,
     .push = locked_push_front,
     .pop = locked_pop,
     .take = locked_take,
     .length = locked_length,
     .valid = locked_valid},
    {.name = "mpmc-cas",
     .bounded = true,
     .shared = true,
     .one = true,
     .ordered = true,
     .least = 2,
     FACE(cas, tn_mpmc_cas_bytes)},
    {.name = "mpmc-fad", .bounded = true, .shared = true, .one = true, .least = 2, FACE(fad, tn_mpmc_fad_bytes)},
    {.name = "mpsc-stub", .shared = true, .one = true, .single = true, .ordered = true, FACE(stub_, stub_bytes)},
    {.name = "nemesis", .shared = true, .one = true, .single = true, .ordered = true, FACE(nemesis_, nemesis_bytes)},
    {.name = "mpsc-node", .shared = true, .one = true, .single = true, .ordered = true, FACE(nodes_, nodes_bytes)},
    {.name = "two-lock", .shared = true, .one = true, .ordered = true, FACE(two_, two_bytes)},
    {.name = "treiber", .lifo = true, .shared = true, .one = true, FACE(treiber_, treiber_bytes)},
    {.name = "chase-lev", .lifo = true, .bounded = true, .one = true, FACE(chase_, chase_bytes)},
    {.name = "chase-lev-growing", .lifo = true, .one = true, FACE(grow_, chase_bytes)},
};

#define QUEUE_FACES (sizeof(queue_faces) / sizeof(queue_faces[0]))

#endif
