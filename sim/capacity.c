/* SPDX-License-Identifier: MIT
 *
 * Caches that are full (--capacities). A core that has a line (lines.c) has it in one of its levels, of which each is one
 * core's or is shared by the cores of a sharing set; where it is found says what it costs. What falls out of the last of a
 * core's levels the core has no more: if no other core has it, memory has.
 *
 * A level is filled by whatever passes it on the way to the core, and keeps what an inner level drops; what it drops itself
 * stays in the inner ones (neither inclusive nor exclusive). A victim level is filled only by what the level before it
 * drops, and a hit takes the line out of it (exclusive). The least recently used of a set goes first; what another core has
 * taken away has left its place free. To write back costs nothing: it is behind the core's back.
 *
 * A set is chosen by the line's number, which it gets when it is first brought to a core: nothing depends on addresses. Of
 * what the program has mapped a page is numbered, and with it its lines in their order, as a page lies in one place. Of the
 * program's data each line is, since where the linker has put it says nothing. The outer levels scatter pages.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <sys/mman.h>

bool sim_capacities;

static struct level {
    uint32_t *lines; /* by set, the most recently used first; 0: free */
    uint32_t sets, ways, sharing;
    bool victim;
} levels[SIM_LEVELS];

void sim_capacities_open(void)
{
    uint32_t n = sim_machine.levels;
    if (n == 0)
        sim_die(2, "the machine '%s' says nothing of its caches (capacity, ways, sharing, victim, reach)",
                sim_machine.name);
    sim_capacities = true;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t in_all = sim_machine.capacity[i] * (1024 / SIM_LINE);
        levels[i] = (struct level){.sets = in_all / sim_machine.ways[i],
                                   .ways = sim_machine.ways[i],
                                   .sharing = sim_machine.sharing[i],
                                   .victim = sim_machine.victim[i] != 0};
        size_t bytes =
            (size_t)(sim_machine.cores + levels[i].sharing - 1) / levels[i].sharing * in_all * sizeof(uint32_t);
        levels[i].lines =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (levels[i].lines == MAP_FAILED)
            sim_die(77, "no memory for the caches of '%s'", sim_machine.name);
    }
}

enum { PAGE_LINES = 64 };

static uint32_t new_page(void)
{
    static uint32_t pages;
    return pages += PAGE_LINES;
}

static void number(uint32_t line)
{
    static uint32_t data; /* the number of the next line of data; at the end of a page: it needs one */
    uint32_t first = line;
    if (sim_lines[line].number != 0)
        return;
    if (sim_is_block((const void *)((uintptr_t)line * SIM_LINE))) {
        first = line / PAGE_LINES * PAGE_LINES;
        if (sim_lines[first].number == 0)
            sim_lines[first].number = new_page();
    } else {
        data = data % PAGE_LINES == 0 ? new_page() : data;
        sim_lines[first].number = data++;
    }
    sim_lines[line].number = sim_lines[first].number + (line - first);
}

static uint32_t *set_of(const struct level *v, uint32_t core, uint32_t line)
{
    uint64_t at = sim_lines[line].number;
    if (v != levels) /* page * a large odd number: where the page lies */
        at = (at / PAGE_LINES * UINT64_C(0x9e3779b97f4a7c15) >> 36) * PAGE_LINES + at % PAGE_LINES;
    return v->lines + ((uint64_t)(core / v->sharing) * v->sets + at % v->sets) * v->ways;
}

static uint32_t place_of(const struct level *v, const uint32_t *set, uint32_t line)
{
    uint32_t i = 0;
    while (i < v->ways && set[i] != line)
        i++;
    return i;
}

static void to_front(uint32_t *set, uint32_t place, uint32_t line)
{
    for (; place > 0; place--)
        set[place] = set[place - 1];
    set[0] = line;
}

static bool has(uint32_t line, uint32_t core)
{
    return (sim_lines[line].sharers[core / 64] >> core % 64 & 1) != 0;
}

static bool anybody_has(const struct level *v, uint32_t line, uint32_t core)
{
    uint32_t first = core / v->sharing * v->sharing;
    for (uint32_t c = first; c < first + v->sharing && c < sim_machine.cores; c++)
        if (has(line, c))
            return true;
    return false;
}

/* A level has dropped the line: which of its cores has it nowhere now? */
static void dropped(const struct level *v, uint32_t line, uint32_t core)
{
    uint32_t first = core / v->sharing * v->sharing;
    for (uint32_t c = first; c < first + v->sharing && c < sim_machine.cores; c++) {
        bool found = !has(line, c);
        for (uint32_t i = 0; i < sim_machine.levels && !found; i++)
            found = place_of(&levels[i], set_of(&levels[i], c, line), line) < levels[i].ways;
        if (found)
            continue;
        struct sim_line *l = &sim_lines[line];
        l->sharers[c / 64] &= ~(UINT64_C(1) << c % 64);
        l->owner = l->owner == c + 1 ? 0 : l->owner;
        sim_here->lost++;
    }
}

static void insert(struct level *v, uint32_t core, uint32_t line)
{
    uint32_t *set = set_of(v, core, line), place = place_of(v, set, line);
    if (place == v->ways) { /* in the place of one that nobody here has, else of the last */
        place = v->ways - 1;
        for (uint32_t i = v->ways; i-- > 0;)
            if (set[i] == 0 || !anybody_has(v, set[i], core)) {
                place = i;
                break;
            }
    }
    uint32_t out = set[place];
    to_front(set, place, line);
    if (out == 0 || out == line || !anybody_has(v, out, core))
        return;
    if (v + 1 < levels + sim_machine.levels && v[1].victim)
        insert(v + 1, core, out);
    dropped(v, out, core);
}

bool sim_at_hand(uint32_t core, const struct sim_line *l)
{
    uint32_t line = (uint32_t)(l - sim_lines), *set = set_of(levels, core, line);
    if (__builtin_expect(set[0] == line, 1))
        return true;
    uint32_t place = place_of(levels, set, line);
    if (place == levels[0].ways)
        return false;
    to_front(set, place, line);
    return true;
}

uint64_t sim_reach(uint32_t core, const struct sim_line *l)
{
    uint32_t line = (uint32_t)(l - sim_lines), found = 0;
    number(line);
    if (sim_at_hand(core, l))
        return 0;
    for (found = 1; found < sim_machine.levels; found++) {
        struct level *v = &levels[found];
        uint32_t *set = set_of(v, core, line), place = place_of(v, set, line);
        if (place == v->ways)
            continue;
        if (v->victim)
            set[place] = 0;
        break;
    }
    for (uint32_t i = found < sim_machine.levels ? found + 1 : found; i-- > 0;)
        if (!levels[i].victim)
            insert(&levels[i], core, line);
    return found < sim_machine.levels ? sim_machine.reach[found - 1] : sim_machine.memory;
}
