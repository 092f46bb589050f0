/* SPDX-License-Identifier: MIT */
/*
 * The codes of all samples, from -32768 on, a line each; then the samples of all codes: in the mu-law, and again in the A-law.
 * tests/scripts/g711.py reads them.
 */
#include <stdio.h>

#include "g711.h"

int main(void)
{
    for (int sample = INT16_MIN; sample <= INT16_MAX; sample++)
        printf("%d\n", g711_ulaw_encode((int16_t)sample));
    for (int code = 0; code < 256; code++)
        printf("%d\n", g711_ulaw_decode((uint8_t)code));
    for (int sample = INT16_MIN; sample <= INT16_MAX; sample++)
        printf("%d\n", g711_alaw_encode((int16_t)sample));
    for (int code = 0; code < 256; code++)
        printf("%d\n", g711_alaw_decode((uint8_t)code));
    return 0;
}
