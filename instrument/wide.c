/* SPDX-License-Identifier: MIT */
/*
 * Atomics of 16 bytes.  Beneath, a value has 64 bits; so a value of 16 bytes gets a number when it is first seen, and the
 * operations that there are on such objects (load, store, exchange, compare-and-exchange) need no more than that equal
 * values have equal numbers.
 */
#include "instrument.h"

#include <string.h>

enum { VALUES = 1 << 15 };

typedef unsigned __int128 wide;

struct in_wide in_wide[VALUES];
uint32_t in_wides;
static uint16_t hashed[VALUES * 2];

static uint32_t slot_of(const struct in_wide *v)
{
    uint32_t h = (uint32_t)(((v->half[0] ^ v->half[1] * 31) * UINT64_C(0x9e3779b97f4a7c15)) >> 48);
    while (hashed[h] != 0 && memcmp(&in_wide[hashed[h] - 1], v, sizeof(*v)) != 0)
        h = (h + 1) % (VALUES * 2);
    return h;
}

uint64_t in_wide_number(const void *at)
{
    struct in_wide v;
    memcpy(&v, at, sizeof(v));
    uint32_t h = slot_of(&v);
    if (hashed[h] == 0) {
        if (in_wides == VALUES - 1)
            in_bug("unsupported", "more than %d values of atomics of 16 bytes", VALUES - 1);
        in_wide[in_wides] = v;
        hashed[h] = (uint16_t)++in_wides;
    }
    return hashed[h] - 1U;
}

void in_wide_again(void)
{
    memset(hashed, 0, sizeof(hashed));
    for (uint32_t i = 0; i < in_wides; i++)
        hashed[slot_of(&in_wide[i])] = (uint16_t)(i + 1);
}

static wide value(uint64_t number)
{
    wide v;
    memcpy(&v, &in_wide[number], sizeof(v));
    return v;
}

/* Not IN_CALL(): a look ahead goes through these, as it does through the entries of other sizes. */
#define OP(op, a0, a1, a2) \
    (in_cur->pc = (uint64_t)__builtin_return_address(0), in_op((uint64_t)(a0), (uint64_t)(a1), a2, 5, 5, (op)*8 + 4))

wide __tsan_atomic128_load(const volatile wide *at, int order);
wide __tsan_atomic128_load(const volatile wide *at, int order)
{
    (void)order;
    return value(OP(OP_LOAD, at, 0, 0));
}

void __tsan_atomic128_store(volatile wide *at, wide v, int order);
void __tsan_atomic128_store(volatile wide *at, wide v, int order)
{
    (void)order;
    OP(OP_STORE, at, in_wide_number(&v), 0);
}

wide __tsan_atomic128_exchange(volatile wide *at, wide v, int order);
wide __tsan_atomic128_exchange(volatile wide *at, wide v, int order)
{
    (void)order;
    return value(OP(OP_XCHG, at, in_wide_number(&v), 0));
}

int __tsan_atomic128_compare_exchange_strong(volatile wide *at, wide *expected, wide v, int order, int failure);
int __tsan_atomic128_compare_exchange_strong(volatile wide *at, wide *expected, wide v, int order, int failure)
{
    (void)order;
    (void)failure;
    return OP(OP_CAS, at, expected, in_wide_number(&v)) != 0;
}

int __tsan_atomic128_compare_exchange_weak(volatile wide *at, wide *expected, wide v, int order, int failure);
int __tsan_atomic128_compare_exchange_weak(volatile wide *at, wide *expected, wide v, int order, int failure)
{
    (void)order;
    (void)failure;
    return OP(OP_CAS_WEAK, at, expected, in_wide_number(&v)) != 0;
}
