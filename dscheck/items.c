/* SPDX-License-Identifier: MIT */
/* See items.h, and of what sleeps, search.h. */
#include "items.h"

#include <stdlib.h>

unsigned search_shard, search_shards = 1;

struct item *items;
uint32_t items_top, items_asleep, items_from;
uint8_t items_level;
uint32_t items_id, items_pushed;
float items_weight = 1;

static uint32_t capacity;

struct item *items_push(enum item_kind kind, uint16_t e, uint16_t other)
{
    if (items_top == capacity) {
        capacity = capacity < 256 ? 256 : capacity * 2;
        items = realloc(items, capacity * sizeof(*items));
        if (items == NULL)
            abort();
    }
    struct item *i = &items[items_top++];
    *i = (struct item){.kind = (uint8_t)kind,
                       .e = e,
                       .other = other,
                       .r = NIL,
                       .n = search_graph->n,
                       .id = (items_id ^ ++items_pushed) * UINT32_C(0x9e3779b1),
                       .level = items_level < SHARD_LEVEL ? (uint8_t)(items_level + 1) : SHARD_LEVEL + 1};
    return i;
}

void items_share(void)
{
    items_weight /= (float)(items_top - items_from + 1);
    while (items_from < items_top)
        items[items_from++].weight = items_weight;
}

unsigned search_depth(void)
{
    return items_top;
}

void search_push_read(uint16_t e, uint16_t rf, unsigned choice)
{
    items_push(READ, e, rf)->choice = (uint8_t)choice;
}

bool items_whole(void)
{
    return search_shards == 1 || items_level >= SHARD_LEVEL;
}

void search_push_asleep(uint16_t e, uint16_t rf, const struct search_looks *looks)
{
    struct item *i = items_push(READ, e, rf);
    if (!items_whole())
        return;
    i->looks = *looks;
    i->tid = search_graph->slot[e].tid;
    items_asleep++;
}

void search_wrote(uint16_t w)
{
    const struct slot *s = &search_graph->slot[w];
    for (uint32_t i = 0; i < items_top && items_asleep > 0; i++)
        for (unsigned l = 0; l < items[i].looks.n; l++)
            if (items[i].looks.loc[l] == s->loc && items[i].tid != s->tid) {
                items[i].looks.n = 0;
                items_asleep--;
            }
}

void search_push_instead(uint16_t e, uint16_t rf)
{
    items_push(READ, e, rf)->r = e;
}

void search_push_steal(uint16_t e, uint16_t rf, unsigned choice)
{
    items_push(STEAL, e, rf)->choice = (uint8_t)choice;
}

void search_push_place(uint16_t e, uint16_t after)
{
    items_push(PLACE, e, after);
}

void items_wake_behind(uint16_t q)
{
    for (uint32_t i = 0; i < items_top && items_asleep > 0; i++)
        if (items[i].kind == AS_IT_IS && items[i].looks.n > 0 && items[i].r > q) {
            items[i].looks.n = 0;
            items_asleep--;
        }
}

bool search_counts(void)
{
    return search_shards == 1 || items_level >= SHARD_LEVEL || search_shard == 0;
}

bool search_splits(void)
{
    unsigned ours = 0;
    for (uint32_t i = 0; i < items_top && ours < 2; i++)
        ours += items[i].whose == OURS;
    return ours == 2;
}

/* The older an item, the more there is behind it: of the two halves each has every other one. */
void search_split(bool give)
{
    static float own;
    bool apart = true;
    items_share();
    for (uint32_t i = 0; i < items_top && items_asleep > 0; i++) /* what would wake it may be searched elsewhere */
        items[i].looks.n = 0;
    items_asleep = 0;
    for (uint32_t i = 0; i < items_top; i++)
        if (!give && items[i].whose != ELSEWHERE) {
            items[i].whose = items[i].whose == APART ? OURS : ELSEWHERE;
        } else if (give && items[i].whose == OURS) {
            items[i].whose = apart ? APART : OURS;
            apart = !apart;
        }
    if (give)
        own = items_weight;
    items_weight = give ? 0 : own; /* the branch at hand stays here */
}

void items_stream(struct stream *s)
{
    items_share();
    stream(s, &items_top, sizeof(items_top));
    if (s->loads && items_top > capacity) {
        capacity = items_top;
        items = realloc(items, capacity * sizeof(*items));
        if (items == NULL)
            abort();
    }
    stream(s, &items_weight, sizeof(items_weight));
    stream(s, items, items_top * sizeof(*items));
    items_from = items_top;
    items_asleep = s->loads ? 0 : items_asleep;
    for (uint32_t i = 0; s->loads && i < items_top; i++) {
        if (items[i].whose == APART)
            items[i].whose = ELSEWHERE;
        items_asleep += items[i].looks.n > 0;
    }
}
