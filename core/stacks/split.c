/* SPDX-License-Identifier: MIT
 *
 * Stacks that grow by segments (000 §3.5): every function that was compiled with -fsplit-stack asks at its entry
 * whether its frame fits, and libgcc links another segment where it does not. There is no guard: nothing overflows but
 * memory. Code that was compiled without, such as the C library, needs room that nobody asks for: the gold linker has each
 * caller of it see to it that a megabyte is left. The first segment has that much more than was asked for (of address space;
 * what is not touched costs nothing), else the very first function of a fibre would begin in a second one, and every
 * call to the C library could cost a segment and system calls. The switch tells libgcc which stack it is on: split.h.
 */
#include "../internal.h"

const char stacks_name[] = "split";

const char *stacks_guards(void)
{
    return "none, the stack grows";
}

/* What must be left for code without split stacks, by libgcc's __morestack_non_split, and some for its own. */
enum { FOREIGN = (1 << 20) + 4096 };

/* libgcc ends the process where it gets no memory for a segment ("unable to allocate additional stack space"): a call
 * cannot return an error in place of being entered. A spawn can, so it asks first, and is refused while there is still
 * one segment more for the fibres that run to grow into. */
enum { RESERVE = 2 << 20 };

static bool room_for(size_t bytes)
{
    void *room = tn_map(bytes);
    if (room != NULL)
        tn_unmap(room, bytes);
    return room != NULL;
}

bool stack_attach(struct tn_stacks *s, struct fibre *f, size_t usable)
{
    size_t bytes = 0;
    usable += FOREIGN + COLOURS * COLOUR_BYTES;
    if (!room_for(usable + RESERVE))
        return stacks_refused(s, "no address space for more stacks", "see ulimit -v, vm.overcommit_memory");
    f->stack = __splitstack_makecontext(usable, f->split.context, &bytes);
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
