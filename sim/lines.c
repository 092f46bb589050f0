/* SPDX-License-Identifier: MIT
 *
 * Lines of memory: who has each, until when it is busy, and what an access costs that does not find it at hand.
 *
 * A line is owned by the one core that may write it, or shared by those that have read it, or nobody's. It has one home,
 * which serves requests in turn: who takes it away from its owner keeps it busy until it has arrived; a reader of a shared
 * line keeps the home busy for `serve` and gets it from the nearest core that has it. A store does not wait: it is
 * over when the line has come, and stores are over in their order; the core waits only where too many are under way.
 * An atomic operation or a fence waits for the stores before it.
 *
 * A request needs half of the transfer to reach who has the line. Until then the owner goes on with it as before, and what
 * it writes meanwhile the other one sees: who waits for a line lets all others act up to that moment, and only then looks.
 * A store is seen by all when it is made, so the owner has no such time where the request is a store.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <sys/mman.h>

struct sim_line *sim_lines;

void sim_lines_open(void)
{
    size_t bytes = ((size_t)1 << SIM_BITS) / SIM_LINE * sizeof *sim_lines;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        sim_die(77, "no address space for the simulated lines (128 GiB, of which little is used): see ulimit -v");
    (void)madvise(p, bytes, MADV_NOHUGEPAGE);
    sim_lines = p;
}

/* The nearest core but `me` that has the line, by its layer; behind the last layer: none near. */
static unsigned nearest(const struct sim_line *l, uint32_t me)
{
    for (unsigned layer = 0; layer < sim_machine.layers; layer++)
        for (unsigned i = 0; i < sim_words; i++)
            if ((l->sharers[i] & sim_near[me][layer][i]) != 0)
                return layer;
    return sim_machine.layers;
}

/* The layer of the farthest one. */
static unsigned farthest(const struct sim_line *l, uint32_t me)
{
    for (unsigned layer = sim_machine.layers; layer > 0; layer--)
        for (unsigned i = 0; i < sim_words; i++)
            if ((l->sharers[i] & ~sim_near[me][layer - 1][i]) != 0)
                return layer;
    return 0;
}

static bool others(const struct sim_line *l, uint32_t me)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < sim_words; i++)
        any |= i == me / 64 ? l->sharers[i] & ~(UINT64_C(1) << me % 64) : l->sharers[i];
    return any != 0;
}

static uint64_t wait_until(struct sim_line *l, uint64_t then)
{
    if (then <= sim_now)
        return 0;
    uint64_t waited = then - sim_now;
    sim_here->stall += waited;
    if (l != NULL)
        l->stall += waited;
    sim_now = then;
    return waited;
}

void sim_fence(void)
{
    (void)wait_until(NULL, sim_here->drained);
}

static uint64_t store(struct sim_line *l, uint64_t done)
{
    struct sim_core *c = sim_here;
    uint64_t *slot = &c->stored[c->next_store++ % sim_machine.stores];
    sim_now += sim_machine.hit;
    uint64_t waited = wait_until(l, *slot); /* the oldest one must be over, since this one needs its place */
    c->drained = *slot = done > c->drained ? done : c->drained;
    return waited;
}

/* ---- lines that a core has been asked for, and still has ---- */

static void asked_for(struct sim_line *l, uint32_t owner, uint64_t until)
{
    struct sim_core *c = &sim_cores[owner];
    struct sim_leaving *slot = &c->leaving[c->next_leaving++ % SIM_LEAVING];
    *slot = (struct sim_leaving){l, until};
}

static bool still_has(const struct sim_line *l, uint32_t core)
{
    const struct sim_core *c = &sim_cores[core];
    for (unsigned i = 0; i < SIM_LEAVING; i++)
        if (c->leaving[i].line == l && sim_now < c->leaving[i].until)
            return true;
    return false;
}

/* ---- the lines that went from core to core ---- */

enum { CONTENDED = 1 << 20 };
static struct sim_line *contended[CONTENDED];
static uint32_t n_contended;

static void transferred(struct sim_line *l)
{
    sim_here->transfers++;
    if (l->transfers++ == 0 && n_contended < CONTENDED)
        contended[n_contended++] = l;
}

unsigned sim_lines_worst(uintptr_t *at, unsigned n)
{
    unsigned have = 0;
    for (uint32_t i = 0; i < n_contended; i++) {
        struct sim_line *l = contended[i];
        unsigned place = have;
        while (place > 0 && sim_lines[at[place - 1] / SIM_LINE].stall < l->stall)
            place--;
        if (place == n)
            continue;
        have += have < n;
        for (unsigned k = have - 1; k > place; k--)
            at[k] = at[k - 1];
        at[place] = (uintptr_t)(l - sim_lines) * SIM_LINE;
    }
    return have;
}

/* ---- an access ---- */

/* The core has the line, as it must to read or write it, in an outer level of its caches: nobody else is concerned. */
static uint64_t from_outer(struct sim_line *l)
{
    uint64_t took = sim_reach(sim_core_number, l);
    sim_here->outer += took != 0;
    return took;
}

/* How long the core has waited. Where another core has the line, only until the request has arrived there: what others do
 * before happens before, and then the core waits on until `*there`, else 0. */
static uint64_t miss(struct sim_line *l, enum sim_access how, uint64_t *there)
{
    uint32_t me = sim_core_number;
    uint64_t bit = UINT64_C(1) << me % 64, waited = 0;
    *there = 0;
    bool have = l->owner == me + 1, alone = have || !others(l, me);
    if (how == SIM_READ && (l->sharers[me / 64] & bit) != 0) /* only with capacities */
        return wait_until(l, sim_now + from_outer(l));
    if (how == SIM_UPDATE)
        waited = wait_until(NULL, sim_here->drained);
    if (!have && still_has(l, me)) {
        sim_now += how == SIM_UPDATE ? sim_machine.atomic : sim_machine.hit;
        return waited;
    }
    uint64_t start = sim_now > l->busy ? sim_now : l->busy, took;
    if (have) {
        took = sim_capacities ? from_outer(l) : 0;
    } else if (l->owner != 0) {
        took = sim_machine.transfer[sim_distance[me][l->owner - 1]];
        sim_traffic[l->owner - 1][me]++;
        transferred(l);
        if (how != SIM_WRITE)
            asked_for(l, l->owner - 1, start + took / 2);
    } else if (alone) {
        took = sim_machine.memory;
        sim_here->cold++;
    } else if (how == SIM_READ) {
        took = sim_machine.transfer[nearest(l, me)];
        sim_here->shared++;
    } else {
        took = sim_machine.transfer[farthest(l, me)];
        transferred(l);
    }
    uint64_t asked = start + took / 2;
    if (!alone && how != SIM_WRITE)
        *there = start + took;
    if (how == SIM_READ) {
        l->busy = start + (l->owner == 0 && !alone ? sim_machine.serve : took);
        l->owner = alone && !have ? (uint16_t)(me + 1) : 0;
        l->sharers[me / 64] |= bit;
        if (sim_capacities)
            (void)sim_reach(me, l);
        return wait_until(l, alone ? start + took : asked);
    }
    for (unsigned i = 0; i < sim_words; i++)
        l->sharers[i] = i == me / 64 ? bit : 0;
    l->owner = (uint16_t)(me + 1);
    if (sim_capacities && !have)
        (void)sim_reach(me, l);
    if (how == SIM_WRITE) {
        l->busy = start + took;
        return store(l, start + took);
    }
    l->busy = start + took + sim_machine.atomic;
    waited += wait_until(l, alone ? start + took : asked);
    sim_now += alone ? sim_machine.atomic : 0;
    return waited;
}

void sim_miss(struct sim_line *l, enum sim_access how, uintptr_t at, const void *pc)
{
    uint64_t there, waited = miss(l, how, &there);
    sim_here->accesses++;
    if (there != 0) {
        if (sim_now > sim_limit)
            sim_turn();
        waited += wait_until(l, there);
        sim_now += how == SIM_UPDATE ? sim_machine.atomic : 0;
    }
    if (waited != 0)
        sim_waited(at, pc, waited);
}

bool sim_miss_noted(struct sim_thread *t, const struct sim_note *n)
{
    uintptr_t at = sim_noted_at(n);
    struct sim_line *l = &sim_lines[at / SIM_LINE];
    if (t->there == 0) {
        t->waited = miss(l, sim_noted_how(n), &t->there);
        sim_here->accesses++;
        if (t->there != 0)
            return false;
    } else {
        t->waited += wait_until(l, t->there);
        t->there = 0;
    }
    if (t->waited != 0)
        sim_waited(at, (const void *)(uintptr_t)n->pc, t->waited);
    return true;
}
