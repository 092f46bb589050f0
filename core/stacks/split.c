/* SPDX-License-Identifier: MIT
 *
 * Stacks that grow by segments (000 §3.5): every function that was compiled with -fsplit-stack asks at its entry
 * whether its frame fits, and libgcc links another segment where it does not. The size of a stack is that of its first
 * segment. There is no guard: nothing overflows but memory, and code that was compiled without, such as the C library, runs
 * in the room that the gold linker makes its callers ask for (16 KiB and more). The switch tells libgcc which stack it is
 * on: split.h.
 */
#include "../internal.h"

const char stacks_name[] = "split";

const char *stacks_guards(void)
{
    return "none, the stack grows";
}

bool stack_attach(struct tn_stacks *s, struct fibre *f, size_t usable)
{
    size_t bytes = 0;
    /* Ends the process where there is no memory: libgcc's own message. */
    f->stack = __splitstack_makecontext(usable + COLOURS * COLOUR_BYTES, f->split.context, &bytes);
    f->top = f->stack + bytes - stack_colour(s, f);
    return true;
}

void stack_detach(struct tn_stacks *s, struct fibre *f)
{
    (void)s;
    if (f->stack == NULL)
        return;
    __splitstack_releasecontext(f->split.context);
    f->stack = NULL;
}

/* Segments come and go: nothing can be told. */
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
