/* SPDX-License-Identifier: MIT
 *
 * G.711 (Recommendation ITU-T G.711): a sample as a sign, three bits that say which of eight segments and four that say where
 * in it. The mu-law (tables 2a and 2b) has samples of 14 bits, here the upper ones of 16, and sends all bits inverted; the A-law
 * (1a and 1b) has 13 bits and sends every other one inverted.
 */
#ifndef G711_H
#define G711_H

#include <stdint.h>

/* A segment is twice as wide as the one before; with 33 added each begins at a power of two. */
enum { G711_BIAS = 33, G711_GREATEST = 8191 - G711_BIAS };

static inline uint8_t g711_ulaw_encode(int16_t sample)
{
    int value = sample >> 2; /* towards the more negative, as the recommendation's reference code has it */
    unsigned sign = value < 0 ? 0x80 : 0, magnitude = (unsigned)(value < 0 ? -value : value);
    magnitude = (magnitude < G711_GREATEST ? magnitude : G711_GREATEST) + G711_BIAS;
    unsigned segment = 26 - (unsigned)__builtin_clz(magnitude);
    return (uint8_t) ~(sign | segment << 4 | (magnitude >> (segment + 1) & 15));
}

/* The middle of the interval, in 16 bits. */
static inline int16_t g711_ulaw_decode(uint8_t code)
{
    unsigned c = (uint8_t)~code, segment = c >> 4 & 7;
    int magnitude = (int)((((c & 15) << 1 | 33) << segment) - G711_BIAS) * 4;
    return (int16_t)((c & 0x80) != 0 ? -magnitude : magnitude);
}

/* Of the A-law the first two segments are one straight line, and no interval has zero in its middle. */
static inline uint8_t g711_alaw_encode(int16_t sample)
{
    unsigned sign = sample < 0 ? 0 : 0x80, magnitude = (unsigned)(sample < 0 ? ~sample : sample) >> 4;
    unsigned segment = magnitude < 32 ? magnitude >> 4 : 28 - (unsigned)__builtin_clz(magnitude);
    unsigned shift = segment > 1 ? segment - 1 : 0;
    return (uint8_t)((sign | segment << 4 | (magnitude >> shift & 15)) ^ 0x55);
}

static inline int16_t g711_alaw_decode(uint8_t code)
{
    unsigned c = code ^ 0x55u, segment = c >> 4 & 7, begin = (c & 15) | (segment > 0 ? 16 : 0);
    int magnitude = (int)((begin << 4 | 8) << (segment > 1 ? segment - 1 : 0));
    return (int16_t)((c & 0x80) != 0 ? magnitude : -magnitude);
}

#endif
