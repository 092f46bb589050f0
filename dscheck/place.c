/* SPDX-License-Identifier: MIT */
/* Where requests lie: each address that is used atomically is a location, with a number. */
#include "exec.h"

#include <string.h>

enum { LOCATIONS = 1 << 14 };

static struct location {
    uint64_t at;
    uint64_t touched; /* the execution that touched it last */
    uint8_t log, users;
    uint16_t by;
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

static uint16_t location_of(uint64_t at, unsigned log)
{
    uint32_t h = hash(at);
    for (; hashed[h] != 0; h = (h + 1) % (LOCATIONS * 2))
        if (location[hashed[h] - 1].at == at) {
            if (location[hashed[h] - 1].log != log)
                exec_give_up("atomic accesses of different sizes to one location");
            return (uint16_t)(hashed[h] - 1);
        }
    for (unsigned near = 1; near < 16; near++) {
        uint16_t below = find(at - near), above = near < (1U << log) ? find(at + near) : NIL;
        if ((below != NIL && (1U << location[below].log) > near) || above != NIL)
            exec_give_up("atomic accesses that overlap in part");
    }
    if (locations == LOCATIONS - 1)
        exec_give_up("more atomic locations than the explorer has room for");
    location[locations] = (struct location){at, 0, (uint8_t)log, 0, NIL};
    hashed[h] = (uint16_t)++locations;
    return (uint16_t)(locations - 1);
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
    uint16_t loc = find(at);
    return loc != NIL && location[loc].touched == exec_number ? loc : NIL;
}

static void touch(uint16_t loc, const struct request *q, unsigned tid)
{
    struct location *l = &location[loc];
    run_atomic(q, tid);
    struct place *p = graph_place(search_graph, loc);
    if (l->touched != exec_number) {
        l->touched = exec_number;
        p->init = place_fetch(q->at, q->log);
        l->by = (uint16_t)tid;
    } else if (l->by != tid) {
        run_result.conflicts = 1;
        l->by = (uint16_t)tid;
    }
}

uint16_t place_of(const struct request *q, unsigned tid)
{
    uint16_t loc = location_of(q->at, q->log);
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

void place_stream(struct stream *s)
{
    stream(s, &in_wides, sizeof(in_wides));
    stream(s, in_wide, in_wides * sizeof(*in_wide));
    stream(s, &locations, sizeof(locations));
    for (unsigned i = 0; i < locations; i++) {
        stream(s, &location[i].at, sizeof(location[i].at));
        stream(s, &location[i].log, sizeof(location[i].log));
        location[i].touched = s->loads ? 0 : location[i].touched;
    }
    if (!s->loads)
        return;
    in_wide_again();
    memset(hashed, 0, sizeof(hashed));
    for (unsigned i = 0; i < locations; i++) {
        uint32_t h = hash(location[i].at);
        while (hashed[h] != 0)
            h = (h + 1) % (LOCATIONS * 2);
        hashed[h] = (uint16_t)(i + 1);
    }
}
