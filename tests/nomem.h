/* SPDX-License-Identifier: MIT
 *
 * The calls of memory of a program that is linked with --wrap for them: they are counted, as are bytes, and fail when they are
 * told to.
 * Included once.
 */
#ifndef NOMEM_H
#define NOMEM_H

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static atomic_long blocks, bytes, fails_in = -1; /* so many more succeed, then one fails; -1: none does */
static atomic_bool all_fail;
static atomic_int failed;

void *__real_aligned_alloc(size_t, size_t);
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void __real_free(void *);
void *__wrap_aligned_alloc(size_t, size_t);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
void __wrap_free(void *);

static bool fails(void)
{
    bool now = atomic_load(&all_fail) || (atomic_load(&fails_in) >= 0 && atomic_fetch_sub(&fails_in, 1) == 0);
    atomic_fetch_add(&failed, now);
    return now;
}
static void *counted(void *p)
{
    atomic_fetch_add(&blocks, p != NULL);
    atomic_fetch_add(&bytes, (long)malloc_usable_size(p));
    return p;
}
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : counted(__real_aligned_alloc(alignment, size));
}
void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : counted(__real_malloc(size));
}
void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : counted(__real_calloc(n, size));
}
void *__wrap_realloc(void *old, size_t size)
{
    if (fails())
        return NULL;
    long before = (long)malloc_usable_size(old);
    void *p = __real_realloc(old, size);
    atomic_fetch_add(&blocks, old == NULL && p != NULL);
    if (p != NULL)
        atomic_fetch_add(&bytes, (long)malloc_usable_size(p) - before);
    return p;
}
void __wrap_free(void *p)
{
    atomic_fetch_sub(&blocks, p != NULL);
    atomic_fetch_sub(&bytes, (long)malloc_usable_size(p));
    __real_free(p);
}

#endif
