/* SPDX-License-Identifier: MIT
 *
 * Stacks in slabs: one mapping for many, a guard page below each, made in one batch, and kept for the next fibre
 * when one ends (004 §3.3.9: mapping a stack costs 70 us).
 *
 *     low                                                                     high
 *     | guard | stack, grows down ........................ | control block | colour |
 *
 * The control block lies on the stack's first page, so that a parked fibre that has called little owns a single
 * page. A module's state lies behind the control block, and is no part of what was asked for as a stack.
 */
#include "../internal.h"

const char stacks_name[] = "pooled";

const char *stacks_guards(void)
{
    return tn_guard_name();
}

void stacks_layout(struct tn_stacks *s, size_t usable)
{
    size_t page = tn_page();
    s->usable = usable;
    s->stride = (usable + s->state_bytes + page - 1) / page * page + page;
}

struct fibre *stacks_block(struct tn_stacks *s, struct stack_slab *slab, size_t i)
{
    char *high = (char *)slab->base + (i + 1) * slab->stride;
    return (struct fibre *)(void *)(high - (slab->colour + i) % COLOURS * COLOUR_BYTES - s->fibre_bytes);
}

/* Unusual sizes fall into classes, four to a doubling, so that an ended stack serves the next of about its size.
 * Rounds the pages up to those of the class. */
static unsigned class_of(size_t *pages)
{
    unsigned shift = 0;
    while (((*pages - 1) >> shift) >= 8)
        shift++;
    size_t units = ((*pages - 1) >> shift) + 1;
    *pages = units << shift;
    return shift * 8 + (unsigned)units;
}

/* A slab of one. It too stays while the runtime lives, for another fibre of its class. */
struct fibre *stacks_take_odd(struct tn_stacks *s, size_t usable)
{
    size_t page = tn_page();
    size_t pages = (usable + s->fibre_bytes + page - 1) / page;
    unsigned class = class_of(&pages);
    tn_spinlock_lock(&s->lock);
    struct fibre *f = s->odd[class];
    if (f != NULL)
        s->odd[class] = f->entry.fibre;
    unsigned colour = s->colour++ % 2;
    tn_spinlock_unlock(&s->lock);
    if (f != NULL)
        return f;
    struct stack_slab *slab = stacks_map(s, (pages + 1) * page, 1, true, colour);
    if (slab == NULL)
        return NULL;
    f = stacks_block(s, slab, 0);
    f->stack = (char *)slab->base + page;
    f->exclusive_stack = (uint32_t)pages;
    return f;
}

/* Its memory goes back to the system, all but the page of the control block. */
void stacks_give_odd(struct tn_stacks *s, struct fibre *f)
{
    size_t pages = f->exclusive_stack;
    uintptr_t block = (uintptr_t)f / tn_page() * tn_page();
    stacks_note_peak(s, stack_used(f));
    if (block > (uintptr_t)f->stack)
        tn_discard(f->stack, block - (uintptr_t)f->stack);
    unsigned class = class_of(&pages);
    tn_spinlock_lock(&s->lock);
    f->entry.fibre = s->odd[class];
    s->odd[class] = f;
    tn_spinlock_unlock(&s->lock);
}

/* ---- how much was used ---- */

size_t stack_used(const struct fibre *f)
{
    return tn_used_above(f->stack, (const char *)f);
}

size_t stacks_peak(struct tn_stacks *s)
{
    size_t most = atomic_load_explicit(&s->peak, memory_order_relaxed); /* relaxed: a maximum */
    tn_spinlock_lock(&s->lock);
    struct stack_slab *slabs = s->slabs;
    tn_spinlock_unlock(&s->lock);
    for (struct stack_slab *slab = slabs; slab != NULL;
         slab = slab->next) /* none goes away, new ones come in front */
        for (size_t i = 0; i < slab->bytes / slab->stride; i++) {
            size_t used =
                tn_used_above((char *)slab->base + i * slab->stride + tn_page(), (char *)stacks_block(s, slab, i));
            most = used > most ? used : most;
        }
    return most;
}
