/* SPDX-License-Identifier: MIT */
/*
 * The heap of the code under test.  Each thread allocates from a stretch of its own, so that the address of a block
 * depends only on what its thread did before: the same event finds the same address in every execution.  A freed block
 * is not used again, or is by the next allocation of its size of the thread that freed it, whoever allocated it (`in_reuse`).
 */
#include "instrument.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 4096, GAP = 32, GRAIN = 16, KNOWN = 1 << 16 };

struct block {
    char *at;
    size_t size, room;
    unsigned char *known; /* a bit a byte: has been written */
    bool freed;
    uint32_t from, freed_from; /* who allocated it, and freed it: places in the code */
    uint8_t freed_by;
};

static struct heap {
    char *low, *next;
    struct block block[BLOCKS];
    unsigned n;
    unsigned char known[KNOWN];
    size_t known_used;
} heap[IN_THREADS];

bool in_reuse = true, in_malloc_fail, in_spurious_wake;
static unsigned used; /* highest thread that allocated, + 1 */

void in_heap_reset(void)
{
    for (unsigned t = 0; t < used; t++) {
        struct heap *h = &heap[t];
        h->low = h->next = in_thread[t].high;
        h->n = 0;
        h->known_used = 0;
    }
    used = 0;
}

bool in_is_heap(const void *p)
{
    const char *at = p;
    return at >= in_low && at < in_high;
}

static struct block *block_at(const char *at)
{
    size_t each = IN_TLS + IN_STACK + in_heap_each;
    unsigned t = (unsigned)((size_t)(at - in_low) / each);
    struct heap *h = &heap[t];
    if (t >= used || at < in_thread[t].high)
        return NULL;
    unsigned low = 0, high = h->n; /* blocks lie in the order of their addresses */
    while (low < high) {
        unsigned mid = (low + high) / 2;
        if (h->block[mid].at + h->block[mid].room + GAP <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low < h->n ? &h->block[low] : NULL;
}

const char *in_heap_block(unsigned thread, unsigned i, size_t *size)
{
    if (thread >= used || i >= heap[thread].n)
        return NULL;
    *size = heap[thread].block[i].size;
    return heap[thread].block[i].at;
}

/* Of the call that is under way. */
static uint32_t here(void)
{
    return (uint32_t)(in_cur->pc - 1 - (uint64_t)in_object.base);
}

/* Who freed a block, and where. */
static __attribute__((cold, noinline)) const char *freed_text(const struct block *b, const char *what)
{
    static char text[128];
    if (b->freed_by == 0)
        snprintf(text, sizeof(text), "%s that main has freed at @%x", what, b->freed_from);
    else
        snprintf(text, sizeof(text), "%s that thread %u has freed at @%x", what, b->freed_by, b->freed_from);
    return text;
}

/* A block that this thread has freed, whoever allocated it: what it has done alone decides which. */
static struct block *freed_here(struct heap *h, size_t room, size_t align)
{
    for (unsigned i = h->n; i-- > 0;) {
        struct block *b = &h->block[i];
        if (b->freed && b->freed_by == in_cur->id && b->room == room && (size_t)b->at % align == 0)
            return b;
    }
    return NULL;
}

static void *allocate(size_t size, size_t align, bool zero)
{
    if (in_object.main == NULL)
        in_bug("unsupported", "an allocation before main(), in a constructor");
    unsigned t = in_cur->id;
    struct heap *h = &heap[t];
    if (t >= used) {
        for (unsigned i = used; i <= t; i++) {
            heap[i].low = heap[i].next = in_thread[i].high;
            heap[i].n = 0;
            heap[i].known_used = 0;
        }
        used = t + 1;
    }
    if (in_malloc_fail && IN_OP(OP_CHOOSE, 0, 0, 2, 0) == 1)
        return NULL;
    if (size > PTRDIFF_MAX) {
        in_cur->error = ENOMEM;
        return NULL;
    }
    size_t room = (size + GRAIN - 1) / GRAIN * GRAIN;
    struct block *b = NULL;
    for (unsigned i = 0; in_reuse && b == NULL && i < used; i++)
        b = freed_here(&heap[(t + i) % used], room, align);
    if (b == NULL) {
        if (h->n == BLOCKS)
            in_bug("unsupported", "more than %d blocks allocated by one thread", BLOCKS);
        b = &h->block[h->n++];
        b->at = (char *)(((size_t)h->next + GAP + align - 1) / align * align);
        b->room = room;
        h->next = b->at + room + GAP;
        b->known = NULL;
        if (h->known_used + room / 8 + 2 <= KNOWN) {
            b->known = h->known + h->known_used;
            h->known_used += room / 8 + 2;
        }
        if (room > in_heap_each || h->next > h->low + in_heap_each)
            in_bug("unsupported", "more than %zu bytes allocated by one thread", in_heap_each);
    }
    b->size = size;
    b->freed = false;
    b->from = here();
    if (b->known != NULL)
        memset(b->known, zero ? 0xff : 0, room / 8 + 1);
    memset(b->at, zero ? 0 : 0xa5, room);
    return b->at;
}

void *ex_malloc(size_t size);
char *ex_strdup(const char *s);
void *ex_calloc(size_t n, size_t size);
void *ex_realloc(void *p, size_t size);
void *ex_aligned_alloc(size_t align, size_t size);
int ex_posix_memalign(void **p, size_t align, size_t size);
void ex_free(void *p);

void *ex_malloc(size_t size)
{
    IN_CALL();
    return allocate(size, GRAIN, false);
}

char *ex_strdup(const char *s)
{
    IN_CALL();
    size_t n = strlen(s) + 1;
    in_plain(s, n, false, in_cur->pc);
    char *to = allocate(n, GRAIN, false);
    if (to != NULL) {
        in_plain(to, n, true, in_cur->pc);
        memcpy(to, s, n);
    }
    return to;
}

void *ex_calloc(size_t n, size_t size)
{
    IN_CALL();
    size_t bytes;
    return __builtin_mul_overflow(n, size, &bytes) ? NULL : allocate(bytes, GRAIN, true);
}

void *ex_aligned_alloc(size_t align, size_t size)
{
    IN_CALL();
    return allocate(size, align < GRAIN ? GRAIN : align, false);
}

int ex_posix_memalign(void **p, size_t align, size_t size)
{
    IN_CALL();
    void *made = allocate(size, align < GRAIN ? GRAIN : align, false);
    if (made == NULL)
        return 12;
    in_plain(p, sizeof(*p), true, in_cur->pc);
    *p = made;
    return 0;
}

static void release(void *p)
{
    struct block *b = in_is_heap(p) ? block_at(p) : NULL;
    if (b == NULL || b->at != p)
        in_bug("invalid free", "free() of what is not the start of a block");
    if (b->freed)
        in_bug("double free", "%s", freed_text(b, "free() of a block"));
    in_freed(b->at, b->size, in_cur->pc);
    b->freed = true;
    b->freed_by = in_cur->id;
    b->freed_from = here();
}

void ex_free(void *p)
{
    IN_CALL();
    if (p != NULL)
        release(p);
}

void *ex_realloc(void *p, size_t size)
{
    IN_CALL();
    void *to = allocate(size, GRAIN, false);
    if (p != NULL && to != NULL) {
        struct block *b = block_at(p);
        if (b == NULL || b->at != p || b->freed)
            in_bug("invalid free", "realloc() of what is not the start of a block");
        size_t n = b->size < size ? b->size : size;
        memcpy(to, p, n);
        struct block *made = block_at(to);
        if (made->known != NULL && b->known != NULL) {
            memcpy(made->known, b->known, n / 8);
            made->known[n / 8] = b->known[n / 8] & (unsigned char)((1U << (n % 8)) - 1);
        } else if (made->known != NULL) {
            memset(made->known, 0xff, made->room / 8 + 1);
        }
        release(p);
    }
    return to;
}

/* Of padding, and of the rest of a word with bit-fields, nobody has written anything: a read of some byte that somebody has
 * written is right. */
static const char unwritten[] = "a read of heap that nobody has written";

const char *in_heap_wrong(const char *at, size_t size, bool write)
{
    if (used == 0 || at < in_low || at >= in_high)
        return (size_t)at < 4096 ? "an access through a null pointer" : NULL;
    struct block *b = block_at(at);
    if (b == NULL) {
        size_t each = IN_TLS + IN_STACK + in_heap_each;
        unsigned t = (unsigned)((size_t)(at - in_low) / each);
        if (at < in_thread[t].high)
            return NULL;
        const char *here = __builtin_frame_address(0);
        if (here >= in_low && here < in_high && !in_own_stack(here))
            in_bug("unsupported", "a thread needs more than %d KiB of stack", IN_STACK / 1024);
        return "an access to the heap outside all blocks";
    }
    if (b->freed && at + size > b->at && at < b->at + b->room)
        return freed_text(b, "use after free, of a block");
    if (at < b->at || at + size > b->at + b->size)
        return "an access out of the bounds of a block of the heap";
    if (b->known != NULL) {
        size_t from = (size_t)(at - b->at);
        if (size <= 8) { /* by far the most */
            uint16_t have, mask = (uint16_t)(((1U << size) - 1) << (from % 8));
            memcpy(&have, b->known + from / 8, 2);
            if (write) {
                have |= mask;
                memcpy(b->known + from / 8, &have, 2);
            }
            return (have & mask) != 0 ? NULL : unwritten;
        }
        bool any = write;
        for (size_t i = from; i < from + size; i++) {
            unsigned char bit = (unsigned char)(1U << (i % 8));
            if (write)
                b->known[i / 8] |= bit;
            any |= (b->known[i / 8] & bit) != 0;
        }
        return any ? NULL : unwritten;
    }
    return NULL;
}

/* ---- leaks: blocks that nothing points to, neither data nor blocks that are pointed to ---- */

static bool reached[IN_THREADS][BLOCKS];

static void scan(const char *from, const char *to)
{
    for (const char *at = (const char *)(((size_t)from + 7) & ~(size_t)7); at + 8 <= to; at += 8) {
        const char *p = *(char *const *)at;
        p = (const char *)((size_t)p & ~(size_t)7); /* tagged pointers */
        if (p < in_low || p >= in_high)
            continue;
        struct block *b = block_at(p);
        if (b == NULL || b->freed || p < b->at || p >= b->at + b->room + 1)
            continue;
        for (unsigned t = 0; t < used; t++)
            if (b >= heap[t].block && b < heap[t].block + BLOCKS && !reached[t][b - heap[t].block]) {
                reached[t][b - heap[t].block] = true;
                scan(b->at, b->at + b->size);
            }
    }
}

const char *in_heap_leak(char *text, size_t size)
{
    bool any = false;
    for (unsigned t = 0; t < used; t++)
        for (unsigned i = 0; i < heap[t].n; i++)
            any |= !heap[t].block[i].freed;
    if (!any)
        return NULL;
    memset(reached, 0, sizeof(reached));
    scan(in_object.data, in_object.data_end);
    for (unsigned t = 0; t < IN_THREADS; t++) { /* what threads still have that did not end themselves */
        const struct in_thread *th = &in_thread[t];
        if (!th->exits && (t != 0 || !in_over))
            continue;
        size_t keys;
        const char *key = in_keys_of(t, &keys);
        scan(key, key + keys);
        if (th->tls_made)
            scan(th->low - IN_TLS, th->low - IN_TLS + in_object.tls_size);
        if (th->exits)
            scan(th->sp, th->high);
    }
    for (unsigned t = 0; t < used; t++)
        for (unsigned i = 0; i < heap[t].n; i++)
            if (!heap[t].block[i].freed && !reached[t][i]) {
                const struct block *b = &heap[t].block[i];
                snprintf(text, size,
                         "a block of %zu bytes, allocated at @%x, is never freed, and nothing points to it", b->size,
                         b->from);
                return text;
            }
    return NULL;
}
