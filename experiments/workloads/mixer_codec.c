/* SPDX-License-Identifier: MIT */
/* See mixer_codec.h. */
#include "mixer_codec.h"

#include <string.h>

#include "g711.h"

#if WITH_OPUS
#include <opus.h>

bool mixer_has_opus(void)
{
    return true;
}

static bool opus_make(struct mixer_codec *c)
{
    int wrong = OPUS_OK, also = OPUS_OK;
    c->encoder = opus_encoder_create(8000, 1, OPUS_APPLICATION_VOIP, &wrong);
    c->decoder = opus_decoder_create(8000, 1, &also);
    return wrong == OPUS_OK && also == OPUS_OK;
}

void mixer_codec_free(struct mixer_codec *c)
{
    if (c->encoder != NULL)
        opus_encoder_destroy(c->encoder);
    if (c->decoder != NULL)
        opus_decoder_destroy(c->decoder);
}

static void opus_fresh(struct mixer_codec *c)
{
    opus_encoder_ctl(c->encoder, OPUS_RESET_STATE);
    opus_decoder_ctl(c->decoder, OPUS_RESET_STATE);
}

static bool encode_opus(struct mixer_codec *c, const int16_t *pcm, struct mixer_packet *out)
{
    out->size = opus_encode(c->encoder, pcm, MIXER_SAMPLES, out->bytes, MIXER_BYTES);
    return out->size > 0;
}

static bool decode_opus(struct mixer_codec *c, const struct mixer_packet *in, int16_t *pcm)
{
    return opus_decode(c->decoder, in->bytes, in->size, pcm, MIXER_SAMPLES, 0) == MIXER_SAMPLES;
}

#else

bool mixer_has_opus(void)
{
    return false;
}

static bool opus_make(struct mixer_codec *c)
{
    (void)c;
    return false;
}

void mixer_codec_free(struct mixer_codec *c)
{
    (void)c;
}

static void opus_fresh(struct mixer_codec *c)
{
    (void)c;
}

static bool encode_opus(struct mixer_codec *c, const int16_t *pcm, struct mixer_packet *out)
{
    (void)c, (void)pcm, (void)out;
    return false;
}

static bool decode_opus(struct mixer_codec *c, const struct mixer_packet *in, int16_t *pcm)
{
    (void)c, (void)in, (void)pcm;
    return false;
}

#endif

bool mixer_codec_make(struct mixer_codec *c, enum mixer_kind kind)
{
    *c = (struct mixer_codec){.kind = kind};
    return kind != MIXER_OPUS || opus_make(c);
}

void mixer_codec_fresh(struct mixer_codec *c)
{
    if (c->kind == MIXER_OPUS)
        opus_fresh(c);
}

bool mixer_encode(struct mixer_codec *c, const int16_t *pcm, struct mixer_packet *out)
{
    if (c->kind == MIXER_OPUS)
        return encode_opus(c, pcm, out);
    for (int i = 0; i < MIXER_SAMPLES; i++)
        out->bytes[i] = c->kind == MIXER_ALAW ? g711_alaw_encode(pcm[i]) : g711_ulaw_encode(pcm[i]);
    out->size = MIXER_SAMPLES;
    return true;
}

bool mixer_decode(struct mixer_codec *c, const struct mixer_packet *in, int16_t *pcm)
{
    if (c->kind == MIXER_OPUS)
        return decode_opus(c, in, pcm);
    for (int i = 0; i < MIXER_SAMPLES; i++)
        pcm[i] = c->kind == MIXER_ALAW ? g711_alaw_decode(in->bytes[i]) : g711_ulaw_decode(in->bytes[i]);
    return true;
}
