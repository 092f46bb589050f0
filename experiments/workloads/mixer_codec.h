/* SPDX-License-Identifier: MIT
 *
 * What a leg of `mixer` speaks: G.711 in either law, or Opus where libopus is there, both at 8 kHz, one channel, 20 ms.
 */
#ifndef MIXER_CODEC_H
#define MIXER_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MIXER_SAMPLES = 160, MIXER_BYTES = 256 }; /* of a frame; the most that one is coded in */

enum mixer_kind { MIXER_ULAW, MIXER_ALAW, MIXER_OPUS, MIXER_KINDS };

struct mixer_packet {
    int size;
    uint8_t bytes[MIXER_BYTES];
};

/* Opus remembers: both directions have a state. */
struct mixer_codec {
    enum mixer_kind kind;
    void *encoder, *decoder;
};

bool mixer_has_opus(void);
/* False: no memory, or libopus says no. */
bool mixer_codec_make(struct mixer_codec *c, enum mixer_kind kind);
void mixer_codec_free(struct mixer_codec *c);
/* As it was when it was made. */
void mixer_codec_fresh(struct mixer_codec *c);
/* False: libopus says no. */
bool mixer_encode(struct mixer_codec *c, const int16_t *pcm, struct mixer_packet *out);
bool mixer_decode(struct mixer_codec *c, const struct mixer_packet *in, int16_t *pcm);

#endif
