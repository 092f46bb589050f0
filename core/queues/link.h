/* SPDX-License-Identifier: MIT */
/*
 * The intrusive link of a fibre, and the plain list made of it.
 *
 * A fibre has exactly one link, and whoever owns the fibre owns its link.  So a fibre that is ready stands in at
 * most one place, and making it ready needs no memory: that is why a wake-up cannot fail.
 *
 * The list is for one thread at a time (its owner, or whoever holds the lock around it); nothing here is atomic.
 *
 * Invariants, checked by tn_list_valid():
 *   1. head == NULL, tail == NULL and count == 0 hold together or not at all.
 *   2. From head, following next, tail is reached after count - 1 steps.
 *   3. tail->next == NULL, so a list can be walked without its count, and can be appended in O(1).
 * A link that has left the list has next == NULL: a link still chained to its old list is a fault that shows at once.
 */
#ifndef TN_QUEUES_LINK_H
#define TN_QUEUES_LINK_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The unit by which fields of different writers are kept apart in all of core/queues. */
#ifndef TN_CACHE_LINE
#define TN_CACHE_LINE 64
#endif

struct tn_link {
    struct tn_link *next;
};

struct tn_list {
    struct tn_link *head; /* the next to be popped */
    struct tn_link *tail;
    size_t count;
};

/* The low three bits of a link's address are zero: mpmc_ring.h keeps its marks there. */
static_assert(sizeof(void *) < 8 || _Alignof(struct tn_link) >= 8, "a link's address has three bits to spare");

static inline void tn_list_init(struct tn_list *list)
{
    list->head = NULL;
    list->tail = NULL;
    list->count = 0;
}

static inline bool tn_list_empty(const struct tn_list *list)
{
    return list->head == NULL;
}

static inline void tn_list_push_back(struct tn_list *list, struct tn_link *link)
{
    link->next = NULL;
    if (list->tail != NULL)
        list->tail->next = link;
    else
        list->head = link;
    list->tail = link;
    list->count++;
}

static inline void tn_list_push_front(struct tn_list *list, struct tn_link *link)
{
    link->next = list->head;
    if (list->head == NULL)
        list->tail = link;
    list->head = link;
    list->count++;
}

/* Pops the front of a list that is not empty, and pushes `link` at its back. */
static inline struct tn_link *tn_list_rotate(struct tn_list *list, struct tn_link *link)
{
    struct tn_link *front = list->head;

    link->next = NULL;
    list->tail->next = link; /* of one alone: front->next */
    list->tail = link;
    list->head = front->next;
    front->next = NULL;
    return front;
}

/* NULL when the list is empty. */
static inline struct tn_link *tn_list_pop_front(struct tn_list *list)
{
    struct tn_link *link = list->head;

    if (link == NULL)
        return NULL;
    list->head = link->next;
    if (list->head == NULL)
        list->tail = NULL;
    list->count--;
    link->next = NULL;
    return link;
}

/* Moves all of `from`, in its order, behind the last of `list`; leaves `from` empty.  O(1). */
static inline void tn_list_append(struct tn_list *list, struct tn_list *from)
{
    if (from->head == NULL)
        return;
    if (list->tail != NULL)
        list->tail->next = from->head;
    else
        list->head = from->head;
    list->tail = from->tail;
    list->count += from->count;
    tn_list_init(from);
}

/* Moves the first min(n, count) of `from`, in their order, behind the last of `list`; returns how many.  O(n). */
static inline size_t tn_list_move_n(struct tn_list *list, struct tn_list *from, size_t n)
{
    struct tn_list part;

    if (n >= from->count) {
        n = from->count;
        tn_list_append(list, from);
        return n;
    }
    if (n == 0)
        return 0;
    part.head = from->head;
    part.tail = from->head;
    part.count = n;
    for (size_t i = 1; i < n; i++)
        part.tail = part.tail->next;
    from->head = part.tail->next; /* not NULL: n < count */
    from->count -= n;
    part.tail->next = NULL;
    tn_list_append(list, &part);
    return n;
}

static inline bool tn_list_valid(const struct tn_list *list)
{
    const struct tn_link *last = NULL;
    size_t steps = 0;

    /* The bound keeps a chain that has become a ring from holding the check for ever. */
    for (const struct tn_link *l = list->head; l != NULL && steps <= list->count; l = l->next) {
        last = l;
        steps++;
    }
    return steps == list->count && last == list->tail;
}

#endif
