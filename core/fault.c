/* SPDX-License-Identifier: MIT
 *
 * A fibre that overflows its stack says so before the process dies: who it is, how large the stack is, and what to do.
 * Any other fault passes without a word.
 */
#include "internal.h"

enum { LOWEST = 65536 };

/* On the signal stack of the worker that runs the fibre. tn_message formats numbers and a string: neither allocates nor
 * locks, so a fault inside the allocator is told as well. */
void fault_tell(uintptr_t address, uintptr_t sp)
{
    struct worker *w = tn_self();
    struct fibre *f = w != NULL ? w->current : NULL;
    if (f == NULL || f->stack == NULL)
        return;
    uintptr_t low = (uintptr_t)f->stack, top = (uintptr_t)stack_top(f), guard = low - tn_page();
    /* A large frame: the stack pointer has left the stack, and what was touched lies between the two. No frame reaches
     * down to where nothing is ever mapped: that stack pointer was overwritten. */
    bool past = sp >= LOWEST && sp < low && address < guard && address + tn_page() > sp;
    if (past == (address >= guard && address < low)) /* neither: both cannot be */
        return;
    tn_message("tenter: stack overflow in fibre '%s' (%p): its stack is %zu bytes, from %p to %p, and it touched %p",
               f->name, (void *)f, (size_t)(top - low), (void *)low, (void *)top, (void *)address);
    if (past)
        tn_message(
            "tenter: a frame of more than a page went past the guard, and other stacks may have been written to: "
            "compile with -fstack-clash-protection");
    /* Twice what there is, or as often as the frame needs that went past its end. */
    size_t enough = 2 * cluster_of(f->pub.cluster)->rt->stacks.usable;
    while (past && enough < top - sp && enough <= TN_STACK_MAX / 2)
        enough *= 2;
    tn_message("tenter: give it more: struct tn_attr's stack, or TENTER_STACK=%zu for all", enough);
}
