/* SPDX-License-Identifier: MIT
 *
 * One face for all queues.
 */
#ifndef QUEUE_FACE_H
#define QUEUE_FACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../core/queues/link.h"
#include "../../core/queues/mpsc_node.h"
#include "../../core/queues/treiber.h"

/* What is queued: `link` is first, so that an item's address is its link's. */
struct queue_item {
    struct tn_link link;
    struct tn_treiber_link stacked;
    struct tn_mpsc_node own, *node; /* node: the one it brings, NULL for its own; a pop may have given it another */
    uint32_t producer, id;
};

struct queue_face {
    const char *name;
    bool lifo; /* the owner's pop takes the newest */
    bool bounded;
    bool shared;  /* any thread pushes and pops; else one owner does, and the others take */
    bool one;     /* take() gives one at most */
    bool halves;  /* take() leaves half, rounded down */
    bool single;  /* shared, but only one thread pops or takes */
    size_t least; /* capacity */
    bool ordered; /* each taker sees each producer's items in the order of their pushes, always */
    size_t (*bytes)(size_t capacity);
    void (*init)(void *q, size_t capacity);
    bool (*push)(void *q, void *item);
    void *(*pop)(void *q);
    size_t (*take)(void *q, size_t max, void *out[]);
    size_t (*length)(void *q); /* these two only while nobody is in an operation */
    bool (*valid)(void *q);
};

#endif
