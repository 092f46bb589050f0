/* SPDX-License-Identifier: MIT
 *
 * Memory of the simulated program, at addresses that depend on nothing but what it asked for. Mappings are cut from one
 * stretch; those that are given back serve later ones of the same size. Blocks come, as glibc's do, from a few that the
 * thread keeps of each size, else from an arena of its thread under that one's lock, to which they return: whichever thread
 * frees them.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, CLASSES = 160, KEPT = 7, HEAD = 16, CHUNK = 1 << 20 };

static char *low, *next, *high;

bool sim_is_block(const void *p)
{
    return (const char *)p >= low && (const char *)p < high;
}

/* ---- who has asked for what, to name lines by ---- */

enum { NAMED = 1 << 24 };
static struct named {
    const char *at;
    size_t bytes;
    uint32_t from, via; /* the caller's place in the code, and its caller's */
} * named;
static uint32_t n_named;

static void name(uint32_t number, const char *at, size_t bytes, uintptr_t *frame)
{
    /* Programs are compiled with frame pointers: [0] is the caller's frame, [1] where it goes on. */
    uintptr_t *caller = (uintptr_t *)frame[0];
    named[number] = (struct named){at, bytes, (uint32_t)frame[1], sim_is_block(caller) ? (uint32_t)caller[1] : 0};
}

static void open_names(void)
{
    void *p =
        mmap(NULL, NAMED * sizeof *named, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        sim_die(77, "no address space for the names of blocks: see ulimit -v");
    named = p;
}

bool sim_named(uintptr_t line, size_t *offset, size_t *bytes, uintptr_t *from, uintptr_t *via)
{
    for (uint32_t i = n_named; i-- > 0;) { /* the newest that reaches into the line: later ones are within mappings */
        const struct named *n = &named[i];
        uintptr_t at = (uintptr_t)n->at;
        if (at >= line + SIM_LINE || at + n->bytes <= line)
            continue;
        *offset = line > at ? line - at : 0;
        *bytes = n->bytes;
        *from = n->from;
        *via = n->via;
        return true;
    }
    return false;
}

void sim_arena_open(void)
{
    char *const wish = (char *)UINT64_C(0x1000000000); /* 64 GiB up to where the lines end */
    size_t bytes = ((size_t)1 << SIM_BITS) - (size_t)wish;
    low = next = mmap(wish, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (low != wish)
        sim_die(77, "no address space for the simulated memory (64 GiB, of which little is used): see ulimit -v");
    (void)madvise(low, bytes, MADV_NOHUGEPAGE);
    high = low + bytes;
    open_names();
}

/* ---- mappings ---- */

static struct hole {
    char *at;
    size_t bytes;
} holes[4096];
static unsigned n_holes;

void *sim_map(size_t bytes)
{
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    for (unsigned i = 0; i < n_holes; i++)
        if (holes[i].bytes == bytes) {
            char *at = holes[i].at;
            holes[i] = holes[--n_holes];
            return at;
        }
    if (bytes > (size_t)(high - next))
        return NULL;
    next += bytes;
    return next - bytes;
}

void sim_unmap(void *base, size_t bytes)
{
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    (void)mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    (void)madvise(base, bytes, MADV_NOHUGEPAGE);
    if (n_holes < sizeof holes / sizeof *holes)
        holes[n_holes++] = (struct hole){base, bytes};
}

void *sim_map_named(size_t bytes, uintptr_t *frame)
{
    void *p = sim_map(bytes);
    if (p != NULL)
        name(n_named++ % NAMED, p, bytes, frame);
    return p;
}

/* ---- blocks ---- */

/* Before each block. */
struct head {
    uint32_t room; /* in units of 16 bytes */
    uint16_t thread, class;
    uint32_t number; /* in `named` */
    uint32_t offset; /* how far the block was moved up to be aligned; its own head lies below */
};
_Static_assert(sizeof(struct head) == HEAD, "as much as malloc's alignment");

struct list {
    void *head;
    uint32_t length;
};

static struct heap {
    struct list kept[CLASSES], all[CLASSES];
    char *at, *end;
    char *lock; /* a line of simulated memory, which stands for the lock of this arena */
} heaps[SIM_THREADS];

/* Sizes in steps of 16 up to 512, then four to each power of two. */
static unsigned class_of(size_t size, size_t *room)
{
    if (size <= 512) {
        *room = size == 0 ? 16 : (size + 15) / 16 * 16;
        return (unsigned)(*room / 16);
    }
    unsigned power = 63 - (unsigned)__builtin_clzl(size - 1);
    size_t step = (size_t)1 << (power - 2);
    size_t part = (size - 1 - ((size_t)1 << power)) / step + 1;
    *room = ((size_t)1 << power) + part * step;
    return 33 + (power - 9) * 4 + (unsigned)part - 1;
}

static void *pop(struct list *l)
{
    void *p = l->head;
    if (p != NULL) { /* the list first: others may act in sim_touch() */
        memcpy(&l->head, p, sizeof l->head);
        l->length--;
        sim_touch(p, sizeof(void *), SIM_READ);
    }
    return p;
}

static void push(struct list *l, void *p)
{
    memcpy(p, &l->head, sizeof l->head);
    l->head = p;
    l->length++;
    sim_touch(p, sizeof(void *), SIM_WRITE);
}

static struct heap *heap_of(uint32_t thread)
{
    struct heap *h = &heaps[thread];
    if (h->lock == NULL && (h->lock = sim_map(PAGE)) != NULL)
        named[n_named++ % NAMED] = (struct named){h->lock, PAGE, 0, 0};
    return h;
}

static void *cut(struct heap *h, size_t bytes)
{
    if (h->lock == NULL)
        return NULL;
    if (bytes > CHUNK / 4)
        return sim_map(bytes);
    if (bytes > (size_t)(h->end - h->at)) {
        h->at = sim_map(CHUNK);
        h->end = h->at != NULL ? h->at + CHUNK : NULL;
        if (h->at == NULL)
            return NULL;
    }
    h->at += bytes;
    return h->at - bytes;
}

static void *take(size_t size)
{
    size_t room;
    sim_charge(sim_machine.malloc);
    if (size > (size_t)(high - low))
        return NULL;
    unsigned class = class_of(size, &room);
    struct heap *h = heap_of(sim_me->id);
    void *p = class < CLASSES ? pop(&h->kept[class]) : NULL;
    if (p != NULL)
        return p;
    sim_touch(h->lock, 8, SIM_UPDATE);
    p = class < CLASSES ? pop(&h->all[class]) : NULL;
    if (p == NULL) {
        struct head *head = cut(h, room + HEAD);
        if (head != NULL) {
            *head =
                (struct head){(uint32_t)(room >> 4), (uint16_t)sim_me->id, (uint16_t) class, n_named++ % NAMED, 0};
            p = head + 1;
        }
    }
    sim_touch(h->lock, 8, SIM_WRITE);
    return p;
}

static struct head *head_of(void *p)
{
    struct head *head = (struct head *)p - 1;
    if (head->offset != 0)
        head = (struct head *)(void *)((char *)p - head->offset) - 1;
    if ((uintptr_t)p % HEAD != 0 || head->number >= n_named || named[head->number].at != (char *)(head + 1))
        sim_die(1, "free() or realloc() of what is no block");
    return head;
}

static void *allocate(size_t size, uintptr_t *frame)
{
    void *p = take(size);
    if (p == NULL)
        errno = ENOMEM;
    else
        name(((struct head *)p - 1)->number, p, size, frame);
    return p;
}

#define FRAME ((uintptr_t *)__builtin_frame_address(0))

void *simulated_malloc(size_t size);
void *simulated_malloc(size_t size)
{
    return allocate(size, FRAME);
}

void simulated_free(void *p);
void simulated_free(void *p)
{
    if (p == NULL)
        return;
    if (!sim_is_block(p)) { /* the C library has allocated it */
        free(p);
        return;
    }
    sim_charge(sim_machine.malloc);
    struct head *head = head_of(p);
    struct heap *mine = heap_of(sim_me->id), *owner = heap_of(head->thread);
    p = head + 1;
    if (head->class >= CLASSES) {
        sim_unmap((char *)head, ((size_t)head->room << 4) + HEAD);
        return;
    }
    if (mine->kept[head->class].length < KEPT) {
        push(&mine->kept[head->class], p);
        return;
    }
    sim_touch(owner->lock, 8, SIM_UPDATE);
    push(&owner->all[head->class], p);
    sim_touch(owner->lock, 8, SIM_WRITE);
}

static void *aligned(size_t align, size_t size, uintptr_t *frame)
{
    if (align <= HEAD)
        return allocate(size, frame);
    char *p = allocate(size + align, frame);
    if (p == NULL || (uintptr_t)p % align == 0)
        return p;
    char *to = (char *)(((uintptr_t)p + align - 1) / align * align);
    ((struct head *)(void *)to)[-1] = (struct head){.offset = (uint32_t)(to - p)};
    return to;
}

void *simulated_aligned_alloc(size_t align, size_t size);
void *simulated_aligned_alloc(size_t align, size_t size)
{
    return aligned(align, size, FRAME);
}

int simulated_posix_memalign(void **out, size_t align, size_t size);
int simulated_posix_memalign(void **out, size_t align, size_t size)
{
    void *p = aligned(align, size, FRAME);
    if (p != NULL)
        *out = p;
    return p != NULL ? 0 : ENOMEM;
}

void *simulated_memset(void *to, int c, size_t n);
void *simulated_calloc(size_t n, size_t size);
void *simulated_calloc(size_t n, size_t size)
{
    size_t bytes;
    void *p = __builtin_mul_overflow(n, size, &bytes) ? NULL : allocate(bytes, FRAME);
    return p != NULL ? simulated_memset(p, 0, bytes) : NULL;
}

void *simulated_memcpy(void *to, const void *from, size_t n);
void *simulated_realloc(void *p, size_t size);
void *simulated_realloc(void *p, size_t size)
{
    if (p != NULL && !sim_is_block(p))
        return realloc(p, size);
    void *to = allocate(size, FRAME);
    if (p != NULL && to != NULL) {
        struct head *head = head_of(p);
        size_t have = ((size_t)head->room << 4) - (size_t)((char *)p - (char *)(head + 1));
        simulated_memcpy(to, p, have < size ? have : size);
        simulated_free(p);
    }
    return to;
}
