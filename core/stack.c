/* SPDX-License-Identifier: MIT
 *
 * Stacks. Those of the default size come in slabs: one mapping for many, a guard page below each, made in one
 * batch. They are never given back while the runtime lives, so a fibre's control block stays valid memory, which
 * the wait word relies on. Ended fibres wait in their worker's cache, then in chains in the pool (004 §3.3.7,
 * §3.3.9: mapping a stack costs 70 us, so it is kept).
 *
 *     low                                                                     high
 *     | guard | stack, grows down ........................ | control block | colour |
 *
 * The control block lies on the stack's first page, so that a parked fibre that has called little owns a single
 * page. Colour: whole lines, different from stack to stack. Without it, the tops of all stacks would fall into the
 * same few cache sets, and switching among a thousand fibres would be five times slower.
 */
#include "internal.h"

struct stack_slab {
    struct stack_slab *next;
    void *base;
    size_t bytes, stride;
    unsigned colour; /* of its first stack */
};

enum { COLOURS = 16, COLOUR_BYTES = 2 * TN_LINE };

int stacks_init(struct tn_stacks *s, size_t usable, size_t state_bytes)
{
    size_t page = tn_page();
    memset(s, 0, sizeof *s);
    tn_spinlock_init(&s->lock);
    s->usable = usable;
    s->stride = (usable + page - 1) / page * page + page;
    s->fibre_bytes = (sizeof(struct fibre) + state_bytes + TN_LINE - 1) / TN_LINE * TN_LINE;
    return 0;
}

/* The control block for the stack whose guard page is at `at`. Memory is zero; `colour` moves it. */
static struct fibre *block_of(struct tn_stacks *s, char *at, size_t stride, unsigned colour)
{
    char *top = at + stride - (colour % COLOURS) * COLOUR_BYTES - s->fibre_bytes;
    return (struct fibre *)(void *)top;
}

void stacks_fini(struct tn_stacks *s)
{
    while (s->slabs != NULL) {
        struct stack_slab *slab = s->slabs;
        s->slabs = slab->next;
        for (size_t i = 0; TN_SANITIZES && i < slab->bytes / slab->stride; i++)
            tn_sanitize_drop(
                &block_of(s, (char *)slab->base + i * slab->stride, slab->stride, slab->colour + (unsigned)i)
                     ->sanitize);
        tn_sanitize_fresh(slab->base, slab->bytes); /* for whoever is mapped there next */
        tn_unmap(slab->base, slab->bytes);
        tn_sched_free(slab, sizeof *slab);
    }
}

static struct stack_slab *map_slab(size_t stride, size_t n, unsigned colour)
{
    struct stack_slab *slab = tn_sched_alloc(sizeof *slab);
    if (slab == NULL)
        return NULL;
    slab->stride = stride;
    slab->colour = colour;
    slab->bytes = stride * n;
    slab->base = tn_map(slab->bytes);
    if (slab->base != NULL && tn_guard(slab->base, stride, n) == 0) {
        tn_sanitize_fresh(slab->base, slab->bytes);
        return slab;
    }
    if (slab->base != NULL) {
        tn_message("tenter: no guard pages left: raise vm.max_map_count (sysctl -w vm.max_map_count=1048576)");
        tn_unmap(slab->base, slab->bytes);
    }
    tn_sched_free(slab, sizeof *slab);
    return NULL;
}

/* A new slab, with its control blocks from `first` to `last` on the list of all. */
static void keep_slab(struct tn_stacks *s, struct stack_slab *slab, struct fibre *first, struct fibre *last)
{
    tn_spinlock_lock(&s->lock);
    slab->next = s->slabs;
    s->slabs = slab;
    last->next_block = atomic_load_explicit(&s->all, memory_order_relaxed); /* relaxed: under the lock */
    atomic_store_explicit(&s->all, first, memory_order_release);            /* SL0 release: they are linked */
    tn_spinlock_unlock(&s->lock);
}

struct fibre *stacks_take(struct tn_stacks *s, unsigned *n)
{
    tn_spinlock_lock(&s->lock);
    struct fibre *chain = s->free;
    if (chain != NULL) {
        s->free = chain->token_next;
        *n = chain->exclusive_stack;
        chain->exclusive_stack = 0;
    }
    unsigned colour = s->colour;
    s->colour += STACK_BATCH;
    tn_spinlock_unlock(&s->lock);
    if (chain != NULL)
        return chain;

    struct stack_slab *slab = map_slab(s->stride, STACK_BATCH, colour);
    struct fibre *last = NULL;
    *n = 0;
    if (slab == NULL)
        return NULL;
    for (unsigned i = STACK_BATCH; i-- > 0;) { /* the lowest comes first in the chain */
        struct fibre *f = block_of(s, (char *)slab->base + i * s->stride, s->stride, colour + i);
        f->stack = (char *)slab->base + i * s->stride + tn_page();
        f->pub.link.next = (struct tn_link *)(void *)chain;
        f->next_block = chain;
        last = last != NULL ? last : f;
        chain = f;
    }
    *n = STACK_BATCH;
    keep_slab(s, slab, chain, last);
    return chain;
}

void stacks_give(struct tn_stacks *s, struct fibre *chain, unsigned n)
{
    tn_spinlock_lock(&s->lock);
    chain->exclusive_stack = n; /* while in the pool: the length of the chain */
    chain->token_next = s->free;
    s->free = chain;
    tn_spinlock_unlock(&s->lock);
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
        s->odd[class] = f->token_next;
    unsigned colour = s->colour++ % 2;
    tn_spinlock_unlock(&s->lock);
    if (f != NULL)
        return f;
    size_t stride = (pages + 1) * page;
    struct stack_slab *slab = map_slab(stride, 1, colour);
    if (slab == NULL)
        return NULL;
    f = block_of(s, slab->base, stride, colour);
    f->stack = (char *)slab->base + page;
    f->exclusive_stack = (uint32_t)pages;
    keep_slab(s, slab, f, f);
    return f;
}

/* Its memory goes back to the system, all but the page of the control block. */
void stacks_give_odd(struct tn_stacks *s, struct fibre *f)
{
    size_t pages = f->exclusive_stack;
    uintptr_t block = (uintptr_t)f / tn_page() * tn_page();
    if (block > (uintptr_t)f->stack)
        tn_discard(f->stack, block - (uintptr_t)f->stack);
    unsigned class = class_of(&pages);
    tn_spinlock_lock(&s->lock);
    f->token_next = s->odd[class];
    s->odd[class] = f;
    tn_spinlock_unlock(&s->lock);
}
