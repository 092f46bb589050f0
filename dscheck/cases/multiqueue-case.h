/* SPDX-License-Identifier: MIT */
/* What the cases on core/queues/multiqueue.h share: nodes are told apart by their addresses, which are their items too. */
#ifndef MULTIQUEUE_CASE_H
#define MULTIQUEUE_CASE_H

#include "queue-case.h"

#include "core/queues/multiqueue.h"

enum { MULTI_QUEUES = 2, MULTI_BUFFER = 2, MULTI_HANDS = 3 };

static struct tn_multi multi;
static struct tn_multi_node multi_node[ITEMS];
static struct tn_multi_hand hand[MULTI_HANDS]; /* the threads', and that of who drains */
static struct got got[MULTI_HANDS];

static inline void multi_fresh(uint32_t queues, uint32_t buffer)
{
    static _Alignas(TN_CACHE_LINE) char memory[MULTI_QUEUES * (sizeof(struct tn_multi_queue) + 64)];
    assert(queues <= MULTI_QUEUES && buffer <= MULTI_BUFFER && tn_multi_bytes(queues, buffer) <= sizeof(memory));
    tn_multi_init(&multi, queues, buffer, memory);
    for (unsigned i = 0; i < MULTI_HANDS; i++) {
        hand[i] = (struct tn_multi_hand){.random = i, .stick = 1};
        got[i].n = 0;
    }
}

static inline void multi_push(unsigned h, int item, uint64_t key)
{
    multi_node[item].key = key;
    multi_node[item].item = &node[item];
    pushed[item] = true;
    tn_multi_push(&multi, &hand[h], multi.queues, &multi_node[item]);
}

static inline struct tn_multi_node *multi_pop(unsigned h)
{
    struct tn_multi_node *n = tn_multi_pop(&multi, &hand[h], multi.queues);
    note(&got[h], n != NULL ? n->item : NULL);
    return n;
}

/* Of `all` that were pushed, the threads have taken so many. */
static inline void multi_check(size_t taken, size_t all)
{
    assert(got[0].n + got[1].n == taken && tn_multi_valid(&multi));
    assert(tn_multi_length(&multi) == all - taken);
    while (multi_pop(2) != NULL)
        ;
    check_once(got, MULTI_HANDS);
    assert(!tn_multi_any(&multi));
}

#endif
