/* SPDX-License-Identifier: MIT
 *
 * Each stack is a mapping of its own with a guard page, made for its fibre and gone with it: where 004 §3.3.1 began, and
 * what §3.3.9 found to cost most. For comparison (row H4).
 */
#include "../internal.h"

const char stacks_name[] = "mmap";

const char *stacks_guards(void)
{
    return tn_guard_name();
}

bool stack_attach(struct tn_stacks *s, struct fibre *f, size_t usable)
{
    size_t page = tn_page(), bytes = (usable + page - 1) / page * page + page;
    char *base = tn_map(bytes);
    if (base == NULL)
        return stacks_refused(s, "no address space for more stacks", "see ulimit -v, vm.overcommit_memory");
    if (tn_guard(base, bytes, 1) != 0) {
        tn_unmap(base, bytes);
        return stacks_refused(s, "no guard pages for more stacks",
                              "see vm.max_map_count (sysctl -w vm.max_map_count=1048576)");
    }
    tn_sanitize_fresh(base, bytes);
    f->stack = base + page;
    f->top = base + bytes - stack_colour(s, f);
    f->stack_bytes = bytes;
    return true;
}

void stack_detach(struct tn_stacks *s, struct fibre *f)
{
    if (f->stack == NULL)
        return;
    stacks_note_peak(s, stack_used(f));
    char *base = f->stack - tn_page();
    tn_sanitize_fresh(base, f->stack_bytes); /* for whoever is mapped there next */
    tn_unmap(base, f->stack_bytes);
    f->stack = NULL;
}

size_t stack_used(const struct fibre *f)
{
    return f->stack != NULL ? tn_used_above(f->stack, f->top) : 0;
}

size_t stacks_peak(struct tn_stacks *s)
{
    return atomic_load_explicit(&s->peak, memory_order_relaxed); /* relaxed: a maximum */
}
