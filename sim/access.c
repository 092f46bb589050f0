/* SPDX-License-Identifier: MIT
 *
 * What gcc's -fsanitize=thread makes of each access to memory: a call, here charged to the thread that makes it. Plain
 * accesses are done by the program itself, behind the call, and are noted; atomics are done here, in their turn. All of it is one thread of the
 * system's, so no operation needs to be atomic.
 */
#include "sim.h"

#include <string.h>

#define PLAIN(bytes)                             \
    void __tsan_read##bytes(void *p);            \
    void __tsan_read##bytes(void *p)             \
    {                                            \
        sim_plain(p, bytes, SIM_READ);           \
    }                                            \
    void __tsan_write##bytes(void *p);           \
    void __tsan_write##bytes(void *p)            \
    {                                            \
        sim_plain(p, bytes, SIM_WRITE);          \
    }                                            \
    void __tsan_unaligned_read##bytes(void *p);  \
    void __tsan_unaligned_read##bytes(void *p)   \
    {                                            \
        sim_plain(p, bytes, SIM_READ);           \
    }                                            \
    void __tsan_unaligned_write##bytes(void *p); \
    void __tsan_unaligned_write##bytes(void *p)  \
    {                                            \
        sim_plain(p, bytes, SIM_WRITE);          \
    }

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *p, size_t size);
void __tsan_read_range(void *p, size_t size)
{
    if (size != 0)
        sim_plain(p, size, SIM_READ);
}

void __tsan_write_range(void *p, size_t size);
void __tsan_write_range(void *p, size_t size)
{
    if (size != 0)
        sim_plain(p, size, SIM_WRITE);
}

void __tsan_init(void);
void __tsan_init(void)
{
}

/* ---- atomics ---- */

enum { RELAXED, CONSUME, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST };

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    if (order == SEQ_CST) { /* the others cost nothing on x86 */
        sim_charge(sim_machine.fence);
        sim_fence();
    }
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
}

#define UPDATE(bits, type, name, expression)                                \
    type __tsan_atomic##bits##_##name(volatile type *p, type v, int order); \
    type __tsan_atomic##bits##_##name(volatile type *p, type v, int order)  \
    {                                                                       \
        (void)order;                                                        \
        sim_touch(p, sizeof *p, SIM_UPDATE);                                \
        type old = *p;                                                      \
        *p = (type)(expression);                                            \
        return old;                                                         \
    }

#define COMPARE(bits, type, name)                                                                              \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *expected, type v, int o, int f); \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *expected, type v, int o, int f)  \
    {                                                                                                          \
        (void)o, (void)f;                                                                                      \
        sim_touch(p, sizeof *p, SIM_UPDATE);                                                                   \
        type old = *p;                                                                                         \
        if (old == *expected) {                                                                                \
            *p = v;                                                                                            \
            return 1;                                                                                          \
        }                                                                                                      \
        *expected = old;                                                                                       \
        return 0;                                                                                              \
    }

#define ATOMIC(bits, type)                                                                           \
    type __tsan_atomic##bits##_load(const volatile type *p, int order);                              \
    type __tsan_atomic##bits##_load(const volatile type *p, int order)                               \
    {                                                                                                \
        (void)order;                                                                                 \
        sim_touch(p, sizeof *p, SIM_READ);                                                           \
        return *p;                                                                                   \
    }                                                                                                \
    void __tsan_atomic##bits##_store(volatile type *p, type v, int order);                           \
    void __tsan_atomic##bits##_store(volatile type *p, type v, int order)                            \
    {                                                                                                \
        sim_touch(p, sizeof *p, order == SEQ_CST ? SIM_UPDATE : SIM_WRITE); /* xchg on x86 */        \
        *p = v;                                                                                      \
    }                                                                                                \
    UPDATE(bits, type, exchange, v)                                                                  \
    COMPARE(bits, type, strong)                                                                      \
    COMPARE(bits, type, weak)                                                                        \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type e, type v, int o, int f); \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type e, type v, int o, int f)  \
    {                                                                                                \
        (void)o, (void)f;                                                                            \
        sim_touch(p, sizeof *p, SIM_UPDATE);                                                         \
        type old = *p;                                                                               \
        if (old == e)                                                                                \
            *p = v;                                                                                  \
        return old;                                                                                  \
    }                                                                                                \
    UPDATE(bits, type, fetch_add, old + v)                                                           \
    UPDATE(bits, type, fetch_sub, old - v)                                                           \
    UPDATE(bits, type, fetch_and, old &v)                                                            \
    UPDATE(bits, type, fetch_or, old | v)                                                            \
    UPDATE(bits, type, fetch_xor, old ^ v)                                                           \
    UPDATE(bits, type, fetch_nand, ~(old & v))

__extension__ typedef unsigned __int128 wide;

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)
ATOMIC(128, wide)

/* ---- what is put into the program by bin/as ---- */

void sim_pauses(uint32_t n);
void sim_pauses(uint32_t n)
{
    sim_drain();
    sim_now += n * sim_machine.pause;
}
