/* SPDX-License-Identifier: MIT
 *
 * An audio mixer (003 §2.4.2): calls of several legs, each of which sends a frame of 20 ms each 20 ms, in a codec of its
 * own. A fibre a leg decodes it and, when the call's fibre has added the legs up, encodes for its leg what the others say.
 *
 * Open loop: frames arrive by the clock, at a moment of each call's own, however far behind the mixer is. A frame that is
 * sent later than --deadline after it arrived has missed it; one that is later than --give-up ends the repetition, and all
 * that were not sent have missed theirs. So a livelock is a result as well.
 *
 * Fibres wait for each other by promises or, as the threads of the servers that the source has in mind do, by looking
 * again and again and yielding. Check: all sums, and all that was sent, are those of the same calls mixed one after another.
 */
#include "bench_tenter.h"
#include "hdr.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <tenter_sync.h>

#include "mixer_codec.h"

enum { SPEAKERS = 8, SPOKEN = 50, FRAME_NS = 20000000, MS = 1000000, AHEAD_NS = 50000000, STACK = 128 << 10 };

typedef int32_t sum[MIXER_SAMPLES];

struct leg {
    struct call *call;
    struct mixer_codec codec;
    const struct mixer_packet *says; /* SPOKEN of them, over and over */
    int16_t pcm[2][MIXER_SAMPLES];   /* of this frame and the one before */
    tn_promise *decoded;             /* a frame each */
    uint32_t *took;                  /* ns from its arrival until it was sent; 0: never */
    uint64_t sent, sent_plain;       /* a hash over all packets, and what it should be */
};

struct call {
    struct leg *legs;
    uint64_t phase; /* of its frames, ns */
    tn_promise *mixed;
    sum *total, *total_plain;
    int64_t done; /* frames */
};

static struct bench *bench;
static int64_t calls, legs, frames, deadline;
static uint64_t give_up;
static bool yields;
static struct call *call;
static struct hdr *latency;
static tn_time start;
static _Atomic(bool) over; /* relaxed, all: it only ends loops; what was done is told by promises and joins */

/* ---- what there is to do for a frame, in whichever order ---- */

static void must(bool good)
{
    if (!good)
        bench_die(bench, BENCH_INTERNAL, "a codec has failed");
}

static void decode(struct leg *l, int64_t f)
{
    must(mixer_decode(&l->codec, &l->says[f % SPOKEN], l->pcm[f % 2]));
}

static void mix(struct call *c, sum *total, int64_t f)
{
    memset(total[f], 0, sizeof(sum));
    for (int64_t l = 0; l < legs; l++)
        for (int i = 0; i < MIXER_SAMPLES; i++)
            total[f][i] += c->legs[l].pcm[f % 2][i];
}

/* FNV-1a. */
static void hash(uint64_t *h, const struct mixer_packet *p)
{
    for (int i = 0; i < p->size; i++)
        *h = (*h ^ p->bytes[i]) * 0x100000001b3u;
}

static void encode(struct leg *l, sum *total, int64_t f)
{
    int16_t others[MIXER_SAMPLES];
    struct mixer_packet out;
    for (int i = 0; i < MIXER_SAMPLES; i++) {
        int32_t s = total[f][i] - l->pcm[f % 2][i];
        others[i] = (int16_t)(s > INT16_MAX ? INT16_MAX : s < INT16_MIN ? INT16_MIN : s);
    }
    must(mixer_encode(&l->codec, others, &out));
    hash(&l->sent, &out);
}

/* ---- one after another ---- */

static void plain(struct call *c)
{
    for (int64_t f = 0; f < frames; f++) {
        for (int64_t l = 0; l < legs; l++)
            decode(&c->legs[l], f);
        mix(c, c->total_plain, f);
        for (int64_t l = 0; l < legs; l++)
            encode(&c->legs[l], c->total_plain, f);
    }
    for (int64_t l = 0; l < legs; l++)
        c->legs[l].sent_plain = c->legs[l].sent;
}

static void fresh(struct call *c)
{
    memset(c->mixed, 0, (size_t)frames * sizeof(*c->mixed)); /* TN_PROMISE_INIT */
    c->done = 0;
    for (int64_t l = 0; l < legs; l++) {
        struct leg *leg = &c->legs[l];
        memset(leg->decoded, 0, (size_t)frames * sizeof(*leg->decoded));
        memset(leg->took, 0, (size_t)frames * sizeof(*leg->took));
        mixer_codec_fresh(&leg->codec);
        leg->sent = 0xcbf29ce484222325u;
    }
}

/* ---- as fibres ---- */

static bool late(tn_time due)
{
    if (tn_now() > due + give_up)
        atomic_store_explicit(&over, true, memory_order_relaxed);
    return atomic_load_explicit(&over, memory_order_relaxed);
}

/* False: who should keep it has given up. */
static bool wait_for(tn_promise *p, tn_time due)
{
    void *kept = NULL;
    if (!yields)
        return tn_promise_get(p) != NULL;
    while (tn_promise_tryget(p, &kept) != 0) {
        if (late(due))
            return false;
        tn_yield();
    }
    return kept != NULL;
}

static tn_time due_of(const struct call *c, int64_t f)
{
    return start + c->phase + (uint64_t)f * FRAME_NS;
}

static void *run_leg(void *arg)
{
    struct leg *l = arg;
    int64_t f = 0;
    for (; f < frames; f++) {
        tn_time due = due_of(l->call, f);
        tn_sleep_until(due, NULL);
        if (late(due))
            break;
        decode(l, f);
        tn_promise_set(&l->decoded[f], l);
        if (!wait_for(&l->call->mixed[f], due))
            break;
        encode(l, l->call->total, f);
        uint64_t took = tn_now() - due;
        l->took[f] = (uint32_t)(took < UINT32_MAX ? took : UINT32_MAX);
    }
    for (; f < frames; f++)
        tn_promise_set(&l->decoded[f], NULL); /* nobody is to wait for it */
    return NULL;
}

static void *run_call(void *arg)
{
    struct call *c = arg;
    bool good = true;
    while (good && c->done < frames) {
        tn_time due = due_of(c, c->done);
        tn_sleep_until(due, NULL);
        for (int64_t l = 0; good && l < legs; l++)
            good = wait_for(&c->legs[l].decoded[c->done], due);
        if (!good)
            break;
        mix(c, c->total, c->done);
        tn_promise_set(&c->mixed[c->done++], c);
    }
    for (int64_t f = c->done; f < frames; f++)
        tn_promise_set(&c->mixed[f], NULL);
    return NULL;
}

static tn_fibre *spawn(void *(*fn)(void *), void *arg)
{
    struct tn_attr attr = {.cluster = tn_cluster_self(), .stack = STACK};
    tn_fibre *f = NULL;
    int rc;
    while ((rc = tn_spawn(&f, &attr, fn, arg)) == EAGAIN)
        tn_yield();
    if (rc != 0)
        bench_die(bench, BENCH_INTERNAL, "tn_spawn: %s", strerror(rc));
    return f;
}

/* ---- a repetition ---- */

static void check(const struct call *c)
{
    if (memcmp(c->total, c->total_plain, (size_t)c->done * sizeof(sum)) != 0)
        bench_invalid(bench, "call %td: not the sums of the same call mixed alone", c - call);
    for (int64_t l = 0; l < legs; l++)
        if (c->legs[l].took[frames - 1] != 0 && c->legs[l].sent != c->legs[l].sent_plain)
            bench_invalid(bench, "call %td, leg %lld: not what the same call mixed alone sends", c - call,
                          (long long)l);
}

static void count(int rep, uint64_t ns)
{
    int64_t sent = 0, missed = 0, all = calls * legs * frames;
    for (int64_t i = 0; i < calls; i++) {
        check(&call[i]);
        for (int64_t k = 0; k < legs * frames; k++) {
            uint32_t took = call[i].legs[k / frames].took[k % frames];
            sent += took != 0;
            missed += took == 0 || took > deadline * MS;
            if (took != 0 && !bench_warmup(bench, rep))
                hdr_record(latency, took);
        }
    }
    bench_sample(bench, "missed", "1", (double)missed / (double)all, rep);
    bench_sample(bench, "unsent", "1", (double)(all - sent) / (double)all, rep);
    bench_sample(bench, "throughput", "1/s", (double)sent * 1e9 / (double)ns, rep);
}

static void repetition(int rep)
{
    int64_t n = calls * (legs + 1);
    tn_fibre **f = calloc((size_t)n, sizeof(tn_fibre *));
    if (f == NULL)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    for (int64_t i = 0; i < calls; i++)
        fresh(&call[i]);
    atomic_store_explicit(&over, false, memory_order_relaxed);
    start = tn_now() + AHEAD_NS;
    for (int64_t i = 0; i < n; i++) {
        struct call *c = &call[i / (legs + 1)];
        int64_t l = i % (legs + 1);
        f[i] = l < legs ? spawn(run_leg, &c->legs[l]) : spawn(run_call, c);
    }
    tn_sleep_until(start, NULL);
    bench_region_start(bench, rep);
    for (int64_t i = 0; i < n; i++)
        tn_join(f[i], NULL);
    uint64_t ns = tn_now() - start;
    bench_region_stop();
    free(f);
    count(rep, ns);
}

static void *all(void *arg)
{
    uint64_t begin = bench_now();
    for (int64_t i = 0; i < calls; i++)
        plain(&call[i]);
    bench_sample(bench, "plain", "ns", (double)(bench_now() - begin) / (double)(calls * legs * frames), 0);
    bench_tenter_repeat(bench, repetition);
    return arg;
}

/* ---- before and after ---- */

/* A second of something like speech: a voice of so many hertz with some overtones, that comes and goes, and noise. */
static void speak(struct mixer_codec *c, unsigned speaker, uint64_t *random, struct mixer_packet *out)
{
    const double turn = 2 * 3.14159265358979323846;
    for (int f = 0; f < SPOKEN; f++) {
        int16_t pcm[MIXER_SAMPLES];
        for (int i = 0; i < MIXER_SAMPLES; i++) {
            double t = (f * MIXER_SAMPLES + i) / 8000.0, voice = 0;
            for (int tone = 1; tone < 6; tone++)
                voice += sin(turn * t * tone * (100 + 20 * speaker)) / tone;
            voice *= 6000 * (1 + sin(turn * t * (2 + speaker % 3)));
            pcm[i] = (int16_t)(voice + (double)bench_below(random, 400));
        }
        must(mixer_encode(c, pcm, &out[f]));
    }
}

static void *room(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (p == NULL)
        bench_die(bench, BENCH_INTERNAL, "no memory");
    return p;
}

static void make(int codec)
{
    static struct mixer_packet said[MIXER_KINDS][SPEAKERS][SPOKEN];
    uint64_t random = (uint64_t)bench_int(bench, "seed");
    for (int kind = 0; kind < MIXER_KINDS; kind++)
        for (unsigned s = 0; s < SPEAKERS && (codec == kind || codec == MIXER_KINDS); s++) {
            struct mixer_codec c;
            must(mixer_codec_make(&c, (enum mixer_kind)kind));
            speak(&c, s, &random, said[kind][s]);
            mixer_codec_free(&c);
        }
    call = room((size_t)calls, sizeof(*call));
    for (int64_t i = 0; i < calls; i++) {
        struct call *c = &call[i];
        *c = (struct call){.legs = room((size_t)legs, sizeof(*c->legs)),
                           .phase = bench_below(&random, FRAME_NS),
                           .mixed = room((size_t)frames, sizeof(*c->mixed)),
                           .total = room((size_t)frames, sizeof(sum)),
                           .total_plain = room((size_t)frames, sizeof(sum))};
        for (int64_t l = 0; l < legs; l++) {
            struct leg *leg = &c->legs[l];
            int kind = codec == MIXER_KINDS ? (int)(l % MIXER_KINDS) : codec; /* mixed: in turn */
            leg->call = c;
            leg->says = said[kind][bench_below(&random, SPEAKERS)];
            leg->decoded = room((size_t)frames, sizeof(*leg->decoded));
            leg->took = room((size_t)frames, sizeof(*leg->took));
            must(mixer_codec_make(&leg->codec, (enum mixer_kind)kind));
        }
        fresh(c);
    }
}

static void release(void)
{
    for (int64_t i = 0; i < calls; i++) {
        for (int64_t l = 0; l < legs; l++) {
            mixer_codec_free(&call[i].legs[l].codec);
            free(call[i].legs[l].decoded);
            free(call[i].legs[l].took);
        }
        free(call[i].legs);
        free(call[i].mixed);
        free(call[i].total);
        free(call[i].total_plain);
    }
    free(call);
    free(latency);
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        {"calls", BENCH_INT, "50", 1, 10000, NULL, "calls", "under way at once", NULL, 0, 0, false},
        {"legs", BENCH_INT, "2", 1, 64, NULL, "legs", "of a call", NULL, 0, 0, false},
        {"frames", BENCH_INT, "50", 2, 100000, NULL, "frames", "of 20 ms, of each leg", NULL, 0, 0, false},
        {"codec", BENCH_CHOICE, "ulaw", 0, 0, "ulaw|alaw|opus|mixed", "",
         "of the legs: G.711 in either law, Opus (where libopus is there), or the three in turn", NULL, 0, 0, false},
        {"wait-by", BENCH_CHOICE, "promise", 0, 0, "promise|yield", "",
         "how fibres of a call wait for each other: suspended, or by looking and yielding", NULL, 0, 0, false},
        {"deadline", BENCH_INT, "20", 1, 4000, NULL, "ms", "for a frame, from when it arrived", NULL, 0, 0, false},
        {"give-up", BENCH_INT, "1000", 1, 4000, NULL, "ms", "a frame this late ends the repetition", NULL, 0, 0,
         false},
    };
    static struct bench b = {
        .program = "mixer",
        .about = "an audio mixer: calls of several legs, a frame each 20 ms",
        .clock =
            "starts when the first frame may arrive, stops when the last fibre has ended; latency from when a frame "
            "was due, by the clock, until it is sent; plain: ns a frame, mixed one after another, before",
        .takes = BENCH_TAKES_SCHEDULER,
        .open = true,
        .own = own,
        .n = sizeof own / sizeof *own};
    bench = &b;
    bench_start(&b, argc, argv);
    int codec = (int)bench_int(&b, "codec");
    if (codec >= MIXER_OPUS && !mixer_has_opus())
        bench_die(&b, BENCH_UNSUPPORTED,
                  "--codec %s needs libopus, which was not there when this was built (./tenter doctor)",
                  bench_text(&b, "codec"));
    calls = bench_int(&b, "calls");
    legs = bench_int(&b, "legs");
    frames = bench_int(&b, "frames");
    deadline = bench_int(&b, "deadline");
    give_up = (uint64_t)bench_int(&b, "give-up") * MS;
    if (deadline * MS > (int64_t)give_up)
        bench_die(&b, BENCH_USAGE, "--give-up comes before --deadline");
    yields = bench_int(&b, "wait-by") == 1;
    latency = hdr_new();
    make(codec);
    bench_tenter_run(&b, "", all, NULL);
    bench_hist(&b, "latency", "ns", latency);
    int rc = bench_finish(&b);
    release();
    return rc;
}
