/* SPDX-License-Identifier: MIT
 *
 * G.711 in the mu-law (Recommendation ITU-T G.711, tables 2a and 2b): a sample of 14 bits, here the upper ones of 16, as a
 * sign, three bits that say which of eight segments and four that say where in it; all are sent inverted.
 */
#ifndef G711_H
#define G711_H

#include <stdint.h>

/* A segment is twice as wide as the one before; with 33 added each begins at a power of two. */
enum { G711_BIAS = 33, G711_GREATEST = 8191 - G711_BIAS };

static inline uint8_t g711_encode(int16_t sample)
{
    int value = sample >> 2; /* towards the more negative, as the recommendation's reference code has it */
    unsigned sign = value < 0 ? 0x80 : 0, magnitude = (unsigned)(value < 0 ? -value : value);
    magnitude = (magnitude < G711_GREATEST ? magnitude : G711_GREATEST) + G711_BIAS;
    unsigned segment = 26 - (unsigned)__builtin_clz(magnitude);
    return (uint8_t) ~(sign | segment << 4 | (magnitude >> (segment + 1) & 15));
}

/* The middle of the interval, in 16 bits. */
static inline int16_t g711_decode(uint8_t code)
{
    unsigned c = (uint8_t)~code, segment = c >> 4 & 7;
    int magnitude = (int)((((c & 15) << 1 | 33) << segment) - G711_BIAS) * 4;
    return (int16_t)((c & 0x80) != 0 ? -magnitude : magnitude);
}

#endif
