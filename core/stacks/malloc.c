/* SPDX-License-Identifier: MIT
 *
 * Each stack is a block of malloc (004 §3.3.9). There is no guard, and tn_describe says so: an overflow runs into
 * whatever the allocator has put below. What can be done cheaply is done: the lowest bytes hold a pattern, and a fibre that
 * ends with another one there ends the process. For comparison (row H4), not for use.
 */
#include "../internal.h"

#include <stdlib.h>

const char stacks_name[] = "malloc";

const char *stacks_guards(void)
{
    return "none, checked when a fibre ends";
}

enum { PATTERN_BYTES = 64 };
static const uint64_t PATTERN = UINT64_C(0x5afe57acc0ffee11);

bool stack_attach(struct tn_stacks *s, struct fibre *f, size_t usable)
{
    size_t bytes =
        (usable + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE + PATTERN_BYTES + COLOURS * COLOUR_BYTES;
    char *base = aligned_alloc(TN_CACHE_LINE, bytes);
    if (base == NULL)
        return stacks_refused(s, "malloc has no more memory for stacks", "see ulimit -v, vm.overcommit_memory");
    for (size_t i = 0; i < PATTERN_BYTES; i += sizeof PATTERN)
        memcpy(base + i, &PATTERN, sizeof PATTERN);
    f->stack = base + PATTERN_BYTES;
    /* The allocator's own distance from block to block may undo the colours: they count from the address itself. */
    uintptr_t end = (uintptr_t)base + bytes;
    f->top = (char *)(end - (end - stack_colour(s, f)) % (COLOURS * COLOUR_BYTES));
    return true;
}

void stack_detach(struct tn_stacks *s, struct fibre *f)
{
    (void)s;
    if (f->stack == NULL)
        return;
    char *base = f->stack - PATTERN_BYTES;
    tn_sanitize_fresh(f->stack, (size_t)(f->top - f->stack));
    for (size_t i = 0; i < PATTERN_BYTES; i += sizeof PATTERN)
        if (memcmp(base + i, &PATTERN, sizeof PATTERN) != 0)
            tn_die("tenter: fibre '%s' has overflowed its stack of %zu bytes, which has no guard (stacks=malloc)",
                   f->name, (size_t)(f->top - f->stack));
    free(base);
    f->stack = NULL;
}

/* The allocator's memory holds what was in it before: nothing can be told. */
size_t stack_used(const struct fibre *f)
{
    (void)f;
    return 0;
}

size_t stacks_peak(struct tn_stacks *s)
{
    (void)s;
    return 0;
}
