/* SPDX-License-Identifier: MIT */
/* The entries for plain accesses: no event, but held against each other for data races, and against the heap. */
#include "instrument.h"

#define PC ((uint64_t)__builtin_return_address(0))

static inline void stop(const void *at)
{
    /* A look ahead may write to its own stack, which is put back. */
    if (in_ahead && !in_own_stack(at))
        in_op(0, 0, 0, 0, 0, OP_STOP * 8);
}

#define ACCESS(name, size)            \
    void __tsan_read##name(void *p);  \
    void __tsan_read##name(void *p)   \
    {                                 \
        in_plain(p, size, false, PC); \
    }                                 \
    void __tsan_write##name(void *p); \
    void __tsan_write##name(void *p)  \
    {                                 \
        stop(p);                      \
        in_plain(p, size, true, PC);  \
    }

ACCESS(1, 1)
ACCESS(2, 2)
ACCESS(4, 4)
ACCESS(8, 8)
ACCESS(16, 16)
ACCESS(1_pc, 1)
ACCESS(2_pc, 2)
ACCESS(4_pc, 4)
ACCESS(8_pc, 8)
ACCESS(16_pc, 16)

#define OTHER(kind, n, size)                \
    void __tsan_##kind##_read##n(void *p);  \
    void __tsan_##kind##_read##n(void *p)   \
    {                                       \
        in_plain(p, size, false, PC);       \
    }                                       \
    void __tsan_##kind##_write##n(void *p); \
    void __tsan_##kind##_write##n(void *p)  \
    {                                       \
        stop(p);                            \
        in_plain(p, size, true, PC);        \
    }

OTHER(unaligned, 2, 2)
OTHER(unaligned, 4, 4)
OTHER(unaligned, 8, 8)
OTHER(unaligned, 16, 16)
OTHER(volatile, 1, 1)
OTHER(volatile, 2, 2)
OTHER(volatile, 4, 4)
OTHER(volatile, 8, 8)
OTHER(volatile, 16, 16)

void __tsan_read_range(void *p, size_t size);
void __tsan_read_range(void *p, size_t size)
{
    in_plain(p, size, false, PC);
}

void __tsan_write_range(void *p, size_t size);
void __tsan_write_range(void *p, size_t size)
{
    stop(p);
    in_plain(p, size, true, PC);
}
