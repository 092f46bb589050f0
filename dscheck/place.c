/* SPDX-License-Identifier: MIT */
/*
 * Where requests lie: each address that is used atomically is a location, with a number.  Plain code that writes there, or
 * frees it, ends that location's life: what comes after finds what plain memory holds, and nothing of what came before,
 * which is ordered before it (or it is a race, race.c).  So it is another location from then on, perhaps of another size.
 */
#include "exec.h"

#include <string.h>

enum { LOCATIONS = 1 << 14 };

static struct location {
    uint64_t at;
    uint64_t touched, over; /* the executions that touched it, and ended it, last */
    uint64_t since;         /* of the first one at an address: the execution in which it is `now` */
    uint16_t now, first, next;
    uint8_t log;
    bool near; /* others overlap it */
    uint8_t by;
    uint16_t epoch; /* of its last access */
    bool written;
} location[LOCATIONS];
static unsigned locations;
static uint16_t hashed[LOCATIONS * 2];

static uint32_t hash(uint64_t at)
{
    return (uint32_t)((at * UINT64_C(0x9e3779b97f4a7c15)) >> 49);
}

static uint16_t find(uint64_t at)
{
    uint32_t h = hash(at);
    for (; hashed[h] != 0; h = (h + 1) % (LOCATIONS * 2))
        if (location[hashed[h] - 1].at == at)
            return (uint16_t)(hashed[h] - 1);
    return NIL;
}

/* The one that is in use at the address of `first`. */
static uint16_t in_use(uint16_t first)
{
    return location[first].since == exec_number ? location[first].now : first;
}

static bool lives(uint16_t loc)
{
    return location[loc].touched == exec_number && location[loc].over != exec_number;
}

static uint16_t new_location(uint64_t at, unsigned log)
{
    if (locations == LOCATIONS - 1)
        exec_give_up("more atomic locations than the explorer has room for");
    uint16_t loc = (uint16_t)locations++;
    location[loc] = (struct location){.at = at, .log = (uint8_t)log, .first = loc, .next = NIL};
    return loc;
}

/* A location in the way of another one: if they lie on the stack of the thread at hand, it has left that function. */
static void give_way(uint16_t loc, unsigned tid, const char *why)
{
    const char *at = (const char *)location[loc].at;
    if (at < in_thread[tid].low || at >= in_thread[tid].high)
        exec_give_up(why);
    location[loc].over = exec_number;
}

/* Those that overlap a location and do not lie at its address. */
static void look_near(uint16_t loc, unsigned tid)
{
    struct location *l = &location[loc];
    for (unsigned near = 1; near < 16; near++) {
        uint16_t around[] = {find(l->at - near), near < (1U << l->log) ? find(l->at + near) : NIL};
        for (unsigned i = 0; i < 2; i++) {
            if (around[i] == NIL)
                continue;
            uint16_t other = in_use(around[i]);
            if (i == 1 || (1U << location[other].log) > near) {
                l->near = location[around[i]].near = location[other].near = true;
                if (lives(other))
                    give_way(other, tid, "atomic accesses that overlap in part");
            }
        }
    }
}

static uint16_t location_of(uint64_t at, unsigned log, unsigned tid)
{
    uint16_t first = find(at);
    if (first == NIL) {
        uint16_t loc = new_location(at, log);
        uint32_t h = hash(at);
        while (hashed[h] != 0)
            h = (h + 1) % (LOCATIONS * 2);
        hashed[h] = (uint16_t)(loc + 1);
        look_near(loc, tid);
        return loc;
    }
    uint16_t loc = in_use(first);
    if (lives(loc) && location[loc].log == log)
        return loc;
    if (lives(loc))
        give_way(loc, tid, "atomic accesses of different sizes to one location");
    while (location[loc].over == exec_number || location[loc].log != log) {
        if (location[loc].next == NIL) {
            uint16_t made = new_location(at, log);
            location[made].first = first;
            location[made].near = location[first].near;
            location[loc].next = made;
        }
        loc = location[loc].next;
    }
    return loc;
}

void place_end(uint64_t cell, unsigned mask)
{
    for (unsigned i = 0; i < 8; i++) {
        uint16_t loc = place_touched(cell + i);
        if (loc != NIL && (mask >> i & ((1U << (1U << location[loc].log)) - 1)) != 0)
            location[loc].over = exec_number;
    }
    uint16_t wide = place_touched(cell - 8);
    if (wide != NIL && location[wide].log == 4)
        location[wide].over = exec_number;
}

uint64_t place_address(uint16_t loc)
{
    return location[loc].at;
}

/* memcpy() of a size that the compiler knows: one instruction. */
uint64_t place_fetch(uint64_t at, unsigned log)
{
    uint64_t v = 0;
    const void *from = (const void *)at;
    switch (log) {
    case 0:
        memcpy(&v, from, 1);
        break;
    case 1:
        memcpy(&v, from, 2);
        break;
    case 2:
        memcpy(&v, from, 4);
        break;
    case 3:
        memcpy(&v, from, 8);
        break;
    default:
        v = in_wide_number((void *)at);
        break;
    }
    return v;
}

void place_put(uint64_t at, unsigned log, uint64_t v)
{
    void *to = (void *)at;
    switch (log) {
    case 0:
        memcpy(to, &v, 1);
        break;
    case 1:
        memcpy(to, &v, 2);
        break;
    case 2:
        memcpy(to, &v, 4);
        break;
    case 3:
        memcpy(to, &v, 8);
        break;
    default:
        memcpy(to, &in_wide[v], 16);
        break;
    }
}

uint16_t place_touched(uint64_t at)
{
    uint16_t first = find(at), loc = first == NIL ? NIL : in_use(first);
    return loc != NIL && lives(loc) ? loc : NIL;
}

static void touch(uint16_t loc, const struct request *q, unsigned tid)
{
    struct location *l = &location[loc];
    run_atomic(q, tid);
    struct place *p = graph_place(search_graph, loc);
    if (l->touched != exec_number) {
        l->touched = exec_number;
        l->written = false;
        location[l->first].since = exec_number;
        location[l->first].now = loc;
        if (l->near)
            look_near(loc, tid);
        p->init = place_fetch(q->at, q->log);
    } else if (run_result.conflicts == 0 && l->by != tid && (l->written || exec_writes(q->op))) {
        uint16_t epoch;
        const struct clock *known = run_clock(tid, &epoch);
        run_result.conflicts = known == NULL || known->of[l->by] <= (int16_t)l->epoch;
    }
    if (run_result.conflicts == 0) {
        l->by = (uint8_t)tid;
        l->epoch = exec_state[tid].done;
        l->written |= exec_writes(q->op);
    }
}

uint16_t place_of(const struct request *q, unsigned tid)
{
    uint16_t loc = location_of(q->at, q->log, tid);
    touch(loc, q, tid);
    return loc;
}

bool place_again(const struct request *q, unsigned tid, uint16_t loc)
{
    if (location[loc].at != q->at || location[loc].log != q->log)
        return false;
    touch(loc, q, tid);
    return true;
}

bool place_quiet(uint16_t loc, uint64_t at)
{
    const struct location *l = &location[loc];
    return loc != NIL && l->at == at && l->touched == exec_number && run_result.conflicts != 0 && run_quiet(at);
}

void place_stream(struct stream *s)
{
    stream(s, &in_wides, sizeof(in_wides));
    stream(s, in_wide, in_wides * sizeof(*in_wide));
    stream(s, &locations, sizeof(locations));
    for (unsigned i = 0; i < locations; i++) {
        stream(s, &location[i].at, sizeof(location[i].at));
        stream(s, &location[i].log, sizeof(location[i].log));
        stream(s, &location[i].first, sizeof(location[i].first));
        stream(s, &location[i].next, sizeof(location[i].next));
        stream(s, &location[i].near, sizeof(location[i].near));
        if (s->loads)
            location[i].touched = location[i].over = location[i].since = 0;
    }
    if (!s->loads)
        return;
    in_wide_again();
    memset(hashed, 0, sizeof(hashed));
    for (unsigned i = 0; i < locations; i++) {
        uint32_t h = hash(location[i].at);
        while (hashed[h] != 0)
            h = (h + 1) % (LOCATIONS * 2);
        if (location[i].first == i)
            hashed[h] = (uint16_t)(i + 1);
    }
}
