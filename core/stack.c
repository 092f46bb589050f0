/* SPDX-License-Identifier: MIT
 *
 * The pool of fibres that have ended or are yet to be: control blocks, in a pooled build with their stacks, in slabs of
 * many. Slabs are never given back while the runtime lives, so a fibre's control block stays valid memory, which the
 * wait word relies on. Ended fibres wait in their worker's cache, then in chains in here (004 §3.3.7, §3.3.9).
 *
 * What a slab is made of, and where stacks come from, is the file of core/stacks/ that -Dstacks names.
 */
#include "internal.h"

void stacks_init(struct tn_stacks *s, size_t usable, size_t state_bytes)
{
    memset(s, 0, sizeof *s);
    tn_spinlock_init(&s->lock);
    s->state_bytes = (state_bytes + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
    s->fibre_bytes = FIBRE_BYTES + s->state_bytes;
    stacks_layout(s, usable);
}

void stacks_fini(struct tn_stacks *s)
{
    while (s->slabs != NULL) {
        struct stack_slab *slab = s->slabs;
        s->slabs = slab->next;
        for (size_t i = 0; (TN_SANITIZES || !TN_STACKS_POOLED) && i < slab->bytes / slab->stride; i++) {
            struct fibre *f = stacks_block(s, slab, i);
            tn_sanitize_drop(&f->sanitize);
            if (!TN_STACKS_POOLED)
                stack_detach(s, f); /* of a fibre that never ended */
        }
        tn_sanitize_fresh(slab->base, slab->bytes); /* for whoever is mapped there next */
        tn_unmap(slab->base, slab->bytes);
        tn_sched_free(slab, sizeof *slab);
    }
}

void *stacks_refused(struct tn_stacks *s, const char *what, const char *remedy)
{
    tn_spinlock_lock(&s->lock);
    bool first = !s->refused;
    s->refused = true;
    tn_spinlock_unlock(&s->lock);
    if (first) /* whoever spawns until it fails gets one line, and ENOMEM each time */
        tn_message("tenter: %s: tn_spawn returns ENOMEM, fibres that run go on; %s", what, remedy);
    return NULL;
}

void stacks_note_peak(struct tn_stacks *s, size_t used)
{
    size_t most = atomic_load_explicit(&s->peak, memory_order_relaxed); /* relaxed: a maximum */
    while (used > most && !atomic_compare_exchange_weak_explicit(&s->peak, &most, used, memory_order_relaxed,
                                                                 memory_order_relaxed)) /* relaxed: a maximum */
        ;
}

/* A new slab, and its n control blocks on the list of all. */
static void keep_slab(struct tn_stacks *s, struct stack_slab *slab, size_t n)
{
    struct fibre *first = stacks_block(s, slab, 0);
    for (size_t i = 0; i + 1 < n; i++)
        stacks_block(s, slab, i)->next_block = stacks_block(s, slab, i + 1);
    tn_spinlock_lock(&s->lock);
    slab->next = s->slabs;
    s->slabs = slab;
    /* relaxed: under the lock */
    stacks_block(s, slab, n - 1)->next_block = atomic_load_explicit(&s->all, memory_order_relaxed);
    atomic_store_explicit(&s->all, first, memory_order_release); /* SL0 release: they are linked */
    tn_spinlock_unlock(&s->lock);
}

struct stack_slab *stacks_map(struct tn_stacks *s, size_t stride, size_t n, bool guarded, unsigned colour)
{
    struct stack_slab *slab = tn_sched_alloc(sizeof *slab);
    if (slab == NULL)
        return NULL;
    slab->stride = stride;
    slab->colour = colour;
    slab->bytes = (stride * n + tn_page() - 1) / tn_page() * tn_page();
    slab->base = tn_map(slab->bytes);
    if (slab->base == NULL) {
        tn_sched_free(slab, sizeof *slab);
        return stacks_refused(s, "no address space for more stacks", "see ulimit -v, vm.overcommit_memory");
    }
    if (guarded && tn_guard(slab->base, stride, n) != 0) {
        tn_unmap(slab->base, slab->bytes);
        tn_sched_free(slab, sizeof *slab);
        return stacks_refused(s, "no guard pages for more stacks",
                              "see vm.max_map_count (sysctl -w vm.max_map_count=1048576)");
    }
    tn_sanitize_fresh(slab->base, slab->bytes);
    keep_slab(s, slab, n);
    return slab;
}

struct fibre *stacks_take(struct tn_stacks *s, unsigned *n)
{
    tn_spinlock_lock(&s->lock);
    struct fibre *chain = s->free;
    if (chain != NULL) {
        s->free = chain->entry.fibre;
        *n = chain->exclusive_stack;
        chain->exclusive_stack = 0;
    }
    unsigned colour = s->colour;
    s->colour += STACK_BATCH;
    tn_spinlock_unlock(&s->lock);
    if (chain != NULL)
        return chain;

    struct stack_slab *slab = stacks_map(s, s->stride, STACK_BATCH, TN_STACKS_POOLED, colour);
    *n = 0;
    if (slab == NULL)
        return NULL;
    for (unsigned i = STACK_BATCH; i-- > 0;) { /* the lowest comes first in the chain */
        struct fibre *f = stacks_block(s, slab, i);
        if (TN_STACKS_POOLED)
            f->stack = (char *)slab->base + i * slab->stride + tn_page();
        f->pub.link.next = (struct tn_link *)(void *)chain;
        chain = f;
    }
    *n = STACK_BATCH;
    return chain;
}

void stacks_give(struct tn_stacks *s, struct fibre *chain, unsigned n)
{
    tn_spinlock_lock(&s->lock);
    chain->exclusive_stack = n; /* while in the pool: the length of the chain */
    chain->entry.fibre = s->free;
    s->free = chain;
    tn_spinlock_unlock(&s->lock);
}

TN_API size_t tn_stack_size(const tn_fibre *f)
{
    const struct fibre *self = (const struct fibre *)(const void *)f;
    return (size_t)(stack_top(self) - self->stack);
}

TN_API size_t tn_stack_used(const tn_fibre *f)
{
    return stack_used((const struct fibre *)(const void *)f);
}

TN_API size_t tn_stack_peak(tn_runtime *rt)
{
    return stacks_peak(&((struct runtime *)(void *)rt)->stacks);
}
