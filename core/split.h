/* SPDX-License-Identifier: MIT
 *
 * Telling libgcc which split stack a thread is on: where its segments are, and below which address a function must ask
 * for another one, which it keeps in a word of the thread. Empty where stacks are not split.
 */
#ifndef TN_SPLIT_H
#define TN_SPLIT_H

#include <stddef.h>

#if TN_STACKS_SPLIT

/* Not in a header of gcc 12's own; docs: the Go runtime's interface, generic-morestack.c. */
enum { TN_SPLIT_WORDS = 10 };
void *__splitstack_makecontext(size_t bytes, void *context[TN_SPLIT_WORDS], size_t *actual);
void __splitstack_getcontext(void *context[TN_SPLIT_WORDS]);
void __splitstack_setcontext(void *context[TN_SPLIT_WORDS]);
void __splitstack_releasecontext(void *context[TN_SPLIT_WORDS]);

struct tn_split {
    void *context[TN_SPLIT_WORDS];
};

/* Right before the switch: no function may be entered until the stack pointer is on the other stack. */
static inline void tn_split_leave(struct tn_split *from, struct tn_split *to)
{
    __splitstack_getcontext(from->context);
    __splitstack_setcontext(to->context);
}

#define TN_SPLIT_LEAVE(from, to) tn_split_leave(&(from)->split, &(to)->split)

/* At the end of a thread libgcc frees its segments, and goes on to look into them. Whoever comes after that is on the thread's
 * own stack: with no segment, and no address below which one is asked for. In a function that does not ask either. */
#define TN_SPLIT_NONE  __attribute__((no_split_stack))
#define TN_SPLIT_END() __splitstack_setcontext((void *[TN_SPLIT_WORDS]){NULL})
#else
#define TN_SPLIT_LEAVE(from, to) ((void)(from), (void)(to))
#define TN_SPLIT_NONE
#define TN_SPLIT_END() ((void)0)
#endif

#endif
