/* SPDX-License-Identifier: MIT
 *
 * Telling AddressSanitizer, ThreadSanitizer and valgrind (-Dsanitize=valgrind) which stack a thread is on. Empty in other
 * builds.
 */
#ifndef TN_SANITIZE_H
#define TN_SANITIZE_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define TN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TN_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TN_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TN_TSAN 1
#endif
#endif

#if defined(TN_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(TN_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

#if defined(TN_VALGRIND)
#include <valgrind/memcheck.h>
#include <valgrind/valgrind.h>
#endif

#if defined(TN_TSAN) || defined(TN_VALGRIND)
#define TN_SANITIZES 1 /* there is something to drop */
#else
#define TN_SANITIZES 0
#endif

/* Does the sanitizer keep threads for itself? How many: tn_tool_threads(). */
#if defined(TN_TSAN)
#define TN_SANITIZE_THREADS 1
#else
#define TN_SANITIZE_THREADS 0
#endif

/* Does it look for leaks? */
#if defined(TN_ASAN)
#define TN_LEAKS 1
#else
#define TN_LEAKS 0
#endif

/* Diagnoses read what others write at the same moment, and live with what they get. */
#define TN_LOOKS __attribute__((no_sanitize("thread")))

struct tn_sanitize {
    void *fake;         /* ASan: the fake stack of a fibre that is off its stack */
    const void *bottom; /* and the stack itself */
    size_t bytes;
    void *tsan;
    unsigned valgrind; /* the number of the stack, and 1 */
};

/* Around the switch: leaving (dying: it will not come back), and on arrival. */
static inline void tn_sanitize_leave(struct tn_sanitize *from, struct tn_sanitize *to, int dying)
{
    (void)from, (void)to, (void)dying;
#if defined(TN_ASAN)
    __sanitizer_start_switch_fiber(dying ? NULL : &from->fake, to->bottom, to->bytes);
#endif
#if defined(TN_TSAN)
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
}

/* `from` gets its bounds filled in if it is a thread's own stack, which nobody else knows. */
static inline void tn_sanitize_arrive(struct tn_sanitize *self, struct tn_sanitize *from)
{
    (void)self, (void)from;
#if defined(TN_ASAN)
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(self->fake, &bottom, &bytes);
    self->fake = NULL;
    if (from != NULL && from->bytes == 0) {
        from->bottom = bottom;
        from->bytes = bytes;
    }
#endif
}

static inline void tn_sanitize_make(struct tn_sanitize *s, const void *bottom, size_t bytes)
{
    (void)s, (void)bottom, (void)bytes;
#if defined(TN_ASAN)
    s->fake = NULL;
    s->bottom = bottom;
    s->bytes = bytes;
    __asan_unpoison_memory_region(bottom, bytes); /* what the former fibre on this stack left behind */
#endif
#if defined(TN_TSAN)
    if (s->tsan == NULL) /* kept with the stack: making one takes milliseconds */
        s->tsan = __tsan_create_fiber(0);
#endif
#if defined(TN_VALGRIND)
    if (s->valgrind == 0)
        s->valgrind = VALGRIND_STACK_REGISTER(bottom, (const char *)bottom + bytes - 1) + 1;
    (void)VALGRIND_MAKE_MEM_UNDEFINED(bottom, bytes); /* what the former fibre on this stack left behind */
#endif
}

/* Address space that may have held other stacks before. */
static inline void tn_sanitize_fresh(const void *base, size_t bytes)
{
    (void)base, (void)bytes;
#if defined(TN_ASAN)
    __asan_unpoison_memory_region(base, bytes);
#endif
}

static inline void tn_sanitize_drop(struct tn_sanitize *s)
{
    (void)s;
#if defined(TN_TSAN)
    if (s->tsan != NULL)
        __tsan_destroy_fiber(s->tsan);
    s->tsan = NULL;
#endif
#if defined(TN_VALGRIND)
    if (s->valgrind != 0)
        VALGRIND_STACK_DEREGISTER(s->valgrind - 1);
    s->valgrind = 0;
#endif
}

/* Around reads of stacks as they are, below their pointers too; what was found there is a number. */
static inline void tn_sanitize_look(void)
{
#if defined(TN_VALGRIND)
    VALGRIND_DISABLE_ERROR_REPORTING;
#endif
}

static inline void tn_sanitize_looked(size_t *found)
{
    (void)found;
#if defined(TN_VALGRIND)
    (void)VALGRIND_MAKE_MEM_DEFINED(found, sizeof *found);
    VALGRIND_ENABLE_ERROR_REPORTING;
#endif
}

/* What is in there leaks not (leaks again, false). */
static inline void tn_sanitize_root(const void *from, size_t bytes, bool root)
{
    (void)from, (void)bytes, (void)root;
#if defined(TN_ASAN)
    if (root)
        __lsan_register_root_region(from, bytes);
    else
        __lsan_unregister_root_region(from, bytes);
#endif
}

static inline void tn_sanitize_thread(struct tn_sanitize *s)
{
    (void)s;
#if defined(TN_TSAN)
    s->tsan = __tsan_get_current_fiber();
#endif
}

#endif
