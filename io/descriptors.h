/* SPDX-License-Identifier: MIT
 *
 * Between the vector of descriptors (descriptors.c) and the calls on them (io.c).
 */
#ifndef TN_IO_DESCRIPTORS_H
#define TN_IO_DESCRIPTORS_H

#include "ahead.h"
#include "io.h"

/* What a call looks at lies on two lines of the cache, one for each direction. */
struct descriptor {
    _Alignas(TN_CACHE_LINE) struct tn_way in;
    _Atomic(uint64_t) sleeper; /* hints, both (descriptor_sleeps) */
    _Atomic(const void *) buffer;
    _Alignas(TN_CACHE_LINE) struct tn_way out;
    _Atomic(struct runtime *) owner; /* whose fibres may wait; NULL: nobody's has yet */
    _Atomic(uint32_t) known;         /* written under the lock: IO_KINDS * tn_process() + an io_kind */
    _Atomic(unsigned) told;          /* written under the lock: in which ways; 0 if it is not armed */
    struct tn_ahead ahead;           /* of TN_WAY_IN */
    _Atomic(void *) armed;           /* written under the lock: where a poller tells events of it (arm); NULL: none */
    struct tn_tokenlock lock; /* over becoming known, being armed, being closed; its process is that of all of it */
};

_Static_assert(offsetof(struct descriptor, out) == TN_CACHE_LINE &&
                   offsetof(struct descriptor, ahead) == 2 * TN_CACHE_LINE,
               "two lines");

static inline struct tn_way *way_of(struct descriptor *d, unsigned way)
{
    return way == TN_WAY_IN ? &d->in : &d->out;
}

/* The vector of them: parts, each twice as large as the one before, none of which ever moves or goes. */
enum { DESCRIPTOR_FIRST = 1024, DESCRIPTOR_PARTS = 22 };
extern _Atomic(struct descriptor *) descriptor_parts[DESCRIPTOR_PARTS];

static inline unsigned descriptor_part(unsigned fd)
{
    return 31 - (unsigned)__builtin_clz(fd / DESCRIPTOR_FIRST + 1);
}

static inline struct descriptor *descriptor_in(struct descriptor *part, unsigned i, unsigned fd)
{
    return part + (fd + DESCRIPTOR_FIRST - ((size_t)DESCRIPTOR_FIRST << i));
}

/* NULL, with errno: there is no such descriptor, or no memory. Else it is known, if nobody closes it just now. */
struct descriptor *descriptor_find(int fd);

/* What it is, or NULL, with errno; and its generation, of that way: had the number been closed and given anew between the two
 * looks, a call would be made on a descriptor that nobody has looked at, and that may block. */
static inline struct descriptor *descriptor_of(int fd, unsigned way, enum io_kind *kind, uint32_t *generation)
{
    uint32_t first = IO_KINDS * tn_process();
    for (;;) {
        unsigned i = fd >= 0 ? descriptor_part((unsigned)fd) : 0;
        struct descriptor *d = atomic_load_explicit(&descriptor_parts[i], memory_order_acquire); /* V0 acquire */
        if (__builtin_expect(d != NULL && fd >= 0, 1)) {
            d = descriptor_in(d, i, (unsigned)fd);
            uint32_t known = atomic_load_explicit(&d->known, memory_order_acquire); /* KN0 acquire */
            *generation = tn_way_generation_first(way_of(d, way));
            *kind = (enum io_kind)(known - first);
            if (__builtin_expect(known - first > IO_CLOSING && known - first < IO_KINDS, 1) &&
                __builtin_expect(atomic_load_explicit(&d->known, memory_order_acquire) == known, 1)) /* KN0 acquire */
                return d;
        }
        if (descriptor_find(fd) == NULL)
            return NULL;
    }
}

/* Does a call that transfers less than asked for take all there is? By who knows that it is no file. */
static inline bool descriptor_streams(struct descriptor *d)
{
    /* relaxed: a constant of its generation, at which whoever asks looks next */
    return atomic_load_explicit(&d->known, memory_order_relaxed) % IO_KINDS == IO_STREAM;
}

/* Is it known to be a file? It stays one until it is closed. */
bool descriptor_is_file(struct descriptor *d);

/* By a fibre: from here on its runtime's events reach the descriptor. An errno value. */
int descriptor_arm(struct descriptor *d, int fd, unsigned way, uint32_t generation);

/* After a call that did not wait: so too, if it is a fibre's whose poller is not lazy. What goes wrong is told to who has to
 * wait. */
void descriptor_arm_early(struct descriptor *d, int fd, unsigned way, uint32_t generation);

static inline bool descriptor_armed(struct descriptor *d)
{
    return atomic_load_explicit(&d->told, memory_order_relaxed) != 0; /* relaxed: a hint, if not for who arms */
}

/* A hint: do events of that way reach it? Where that ends, an event follows. */
static inline bool descriptor_tells(struct descriptor *d, unsigned way)
{
    return (atomic_load_explicit(&d->told, memory_order_relaxed) >> way & 1) !=
           0; /* relaxed: tn_way_wait finds that event */
}

/* By a fibre that is about to wait for input: where its control block is, and how many lines below it the frame of who calls, and
 * where what comes shall go, for tn_io_expect_sleeper. Where an address has more than 48 bits, or the fibre has ended, something
 * else is fetched, in vain. */
static inline void descriptor_sleeps(struct descriptor *d, const struct fibre *f, const char *frame,
                                     const void *buffer)
{
    uint64_t lines = (uint64_t)((uintptr_t)f - (uintptr_t)frame) / TN_CACHE_LINE;
    /* relaxed, both: hints */
    atomic_store_explicit(&d->sleeper, (uint64_t)(uintptr_t)f << 16 | (lines & 0xffff), memory_order_relaxed);
    atomic_store_explicit(&d->buffer, buffer != NULL ? buffer : frame, memory_order_relaxed);
}

/* It becomes rt's, if it is nobody's and that generation of it has not ended: its number's next owner may be of another runtime. */
bool descriptor_claim(struct descriptor *d, unsigned way, uint32_t generation, struct runtime *rt);

/* Do the fibres of rt wait for it, and no other's? If nobody's do, they do from now on. Of what was closed meanwhile: as if they did;
 * who goes on is told. */
static inline bool descriptor_owned(struct descriptor *d, unsigned way, uint32_t generation, struct runtime *rt)
{
    /* relaxed: compared only */
    return __builtin_expect(atomic_load_explicit(&d->owner, memory_order_relaxed) == rt, 1) ||
           descriptor_claim(d, way, generation, rt);
}

#endif
