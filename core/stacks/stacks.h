/* SPDX-License-Identifier: MIT
 *
 * What the files in here share with the core; -Dstacks picks one of them. Included by internal.h.
 */
#ifndef TN_STACKS_H
#define TN_STACKS_H

struct fibre;

struct stack_slab {
    struct stack_slab *next;
    void *base;
    size_t bytes, stride;
    unsigned colour; /* of its first stack */
};

/* Colour: whole lines, different from stack to stack. Without it, the tops of all stacks would fall into the same few
 * cache sets, and switching among a thousand fibres would be five times slower. */
enum { COLOURS = 16, COLOUR_BYTES = 2 * TN_CACHE_LINE };

/* The pool of one runtime. */
enum { STACK_BATCH = 32, STACK_CACHE = 128, STACK_CLASSES = 160 };
struct tn_stacks {
    size_t stride, usable; /* bytes from one block to the next in a slab; of a stack without its guard */
    size_t fibre_bytes;    /* control block with module state, rounded to lines */
    size_t state_bytes;    /* of them, for the module's state: rounded too, constant */
    struct tn_spinlock lock;
    struct fibre *free;               /* under the lock: chains of BATCH, linked by the first's entry.fibre */
    struct fibre *odd[STACK_CLASSES]; /* under the lock: pooled; ended ones of other sizes, linked by entry.fibre */
    struct stack_slab *slabs;         /* under the lock */
    _Atomic(struct fibre *) all;      /* every control block, by next_block; written under the lock, grows only */
    unsigned colour;                  /* under the lock */
    bool refused;                     /* under the lock: it has been said that there is no memory */
    _Atomic(size_t) peak;             /* the most used of any stack whose memory has gone; relaxed, a maximum */
};

/* ---- stack.c ---- */
void stacks_init(struct tn_stacks *s, size_t usable, size_t state_bytes);
void stacks_fini(struct tn_stacks *s);
/* Fibres from the pool: a chain linked by pub.link; *n tells how many. NULL: no memory, and it has been said. */
struct fibre *stacks_take(struct tn_stacks *s, unsigned *n);
void stacks_give(struct tn_stacks *s, struct fibre *chain, unsigned n);
/* A slab, mapped and listed, as are its n control blocks; with a guard at the low end of each stride. NULL: no memory, and it has been said. */
struct stack_slab *stacks_map(struct tn_stacks *s, size_t stride, size_t n, bool guarded, unsigned colour);
/* A stack of which `used` bytes were in use goes back to the system: keep the most. */
void stacks_note_peak(struct tn_stacks *s, size_t used);
/* Say once for each runtime what there is no more of, and what helps. Returns NULL. */
void *stacks_refused(struct tn_stacks *s, const char *what, const char *remedy);

/* ---- core/stacks/NAME.c ---- */

/* Its name, and its guards as tn_describe tells them. */
extern const char stacks_name[];
const char *stacks_guards(void);

/* Sets usable and stride, from the size that was asked for. */
void stacks_layout(struct tn_stacks *s, size_t usable);
/* The i-th control block of a slab. */
struct fibre *stacks_block(struct tn_stacks *s, struct stack_slab *slab, size_t i);

/* Bytes of f's stack that have been in use, at most; 0: it cannot be told. All stacks of the runtime. */
size_t stack_used(const struct fibre *f);
size_t stacks_peak(struct tn_stacks *s);

/* Pooled: a fibre whose stack has another size than the pool's. */
struct fibre *stacks_take_odd(struct tn_stacks *s, size_t usable);
void stacks_give_odd(struct tn_stacks *s, struct fibre *f);

/* The others: a stack for f, which has none; false: no memory, and it has been said. And away with it, if it has one. */
bool stack_attach(struct tn_stacks *s, struct fibre *f, size_t usable);
void stack_detach(struct tn_stacks *s, struct fibre *f);

#endif
