/* SPDX-License-Identifier: MIT
 *
 * For stacks that come and go with their fibres: slabs of control blocks alone, which stay.
 */
#include "../internal.h"

void stacks_layout(struct tn_stacks *s, size_t usable)
{
    s->usable = usable;
    s->stride = s->fibre_bytes;
}

struct fibre *stacks_block(struct tn_stacks *s, struct stack_slab *slab, size_t i)
{
    (void)s;
    return (struct fibre *)(void *)((char *)slab->base + i * slab->stride);
}
