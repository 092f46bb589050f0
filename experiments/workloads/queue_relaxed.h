/* SPDX-License-Identifier: MIT
 *
 * Relaxed structures for `crowd`: as the modules multiq and sharded use them, two queues or one for each thread.
 */
#ifndef QUEUE_RELAXED_H
#define QUEUE_RELAXED_H

#include <stdlib.h>

#include "../../core/platform.h"
#include "../../core/queues/multiqueue.h"
#include "../../schedulers/parts/shards.h"
#include "queue_face.h"

/* ---- multiqueue: by age, two draws, nobody sticks to what it has drawn ---- */

enum { MULTI_EACH = 2, MULTI_BUFFER = 16 };

struct multi {
    struct tn_multi q;
    struct multi_hand {
        _Alignas(TN_CACHE_LINE) struct tn_multi_hand hand;
    } hand[];
};

static size_t multi_hands(unsigned threads)
{
    size_t bytes = sizeof(struct multi) + threads * sizeof(struct multi_hand);
    return (bytes + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
}
static size_t multi_bytes(unsigned threads)
{
    return multi_hands(threads) + tn_multi_bytes(threads * MULTI_EACH, MULTI_BUFFER);
}
static void multi_init(void *q, unsigned threads)
{
    struct multi *m = q;
    tn_multi_init(&m->q, threads * MULTI_EACH, MULTI_BUFFER, (char *)q + multi_hands(threads));
    for (unsigned i = 0; i < threads; i++)
        m->hand[i].hand = (struct tn_multi_hand){.random = i + 1, .stick = 1};
}
static void multi_push(void *q, unsigned who, void *item)
{
    struct multi *m = q;
    struct tn_multi_node *node = (void *)((char *)item + sizeof(struct queue_item));
    node->key = tn_now();
    node->item = item;
    tn_multi_push(&m->q, &m->hand[who].hand, m->q.queues, node);
}
static void *multi_pop(void *q, unsigned who)
{
    struct multi *m = q;
    struct tn_multi_node *node = tn_multi_pop(&m->q, &m->hand[who].hand, m->q.queues);
    return node != NULL ? node->item : NULL;
}

/* ---- sharded: into its own, from its own first; without a bound, so that nothing of a fibre is touched but its link ---- */

static size_t shards_bytes(unsigned threads)
{
    return (void)threads, sizeof(struct tn_shards);
}
static void shards_init(void *q, unsigned threads)
{
    struct tn_shards *s = q;
    if (s->n != 0) /* of the repetition before */
        tn_shards_fini(s);
    if (tn_shards_init(s, threads, -1) != 0)
        abort();
}
static void shards_push(void *q, unsigned who, void *item)
{
    tn_shards_push(q, who, tn_fibre_of(item));
}
static void *shards_pop(void *q, unsigned who)
{
    struct tn_shards *s = q;
    void *item = NULL;
    for (uint32_t i = 0; i < s->n && item == NULL; i++)
        item = tn_shards_take(s, (who + i) % s->n, 0);
    return item;
}

static const struct queue_relaxed {
    const char *name;
    size_t (*bytes)(unsigned threads);
    void (*init)(void *q, unsigned threads); /* of zeroes, or of what is empty again */
    void (*push)(void *q, unsigned who, void *item);
    void *(*pop)(void *q, unsigned who);
} queue_relaxed[] = {{"multiqueue", multi_bytes, multi_init, multi_push, multi_pop},
                     {"sharded", shards_bytes, shards_init, shards_push, shards_pop}};

#define QUEUE_RELAXED (sizeof queue_relaxed / sizeof *queue_relaxed)

#endif
