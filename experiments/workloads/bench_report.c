/* SPDX-License-Identifier: MIT
 *
 * The record of an invocation and its two forms: one JSON object, or a table for people.
 */
#include "bench.h"
#include "hdr.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

/* Bytes of the UTF-8 sequence at s, 0 if there is none (RFC 3629: no overlong forms, surrogates, beyond
 * U+10FFFF). */
static unsigned utf8(const unsigned char *s)
{
    unsigned n = s[0] < 0x80                   ? 1
                 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                               : 0;
    for (unsigned i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

void bench_json_string(const char *text)
{
    if (text == NULL) {
        printf("null");
        return;
    }
    putchar('"');
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0';) {
        unsigned n = utf8(s);
        if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            printf("\\u%04x", *s);
        else if (n == 0)
            printf("\\ufffd");
        else
            fwrite(s, 1, n, stdout);
        s += n == 0 ? 1 : n;
    }
    putchar('"');
}

void bench_json_number(double value)
{
    if (!isfinite(value))
        printf("null");
    else if (value == floor(value) && fabs(value) < 9e15)
        printf("%.0f", value);
    else
        printf("%.10g", value);
}

void bench_json_value(const struct bench_option *o)
{
    if (o->type == BENCH_FLAG)
        printf(o->number ? "true" : "false");
    else if (o->text == NULL)
        printf("null");
    else if (o->type == BENCH_INT)
        printf("%" PRId64, o->number);
    else if (o->type == BENCH_REAL)
        bench_json_number(o->real);
    else
        bench_json_string(o->text);
}

/* ---- what the binary is ---- */

/* What a simulated program is not charged for: how long its file is must not change what it does. */
#if defined(__has_attribute)
#if __has_attribute(no_sanitize_coverage)
#define UNSEEN __attribute__((noinline, no_sanitize_thread, no_sanitize_coverage))
#endif
#endif
#ifndef UNSEEN
#define UNSEEN
#endif

/* FNV-1a over the executable. */
UNSEEN static uint64_t own_id(void)
{
    uint64_t h = 0xcbf29ce484222325u;
    unsigned char part[4096];
    size_t n;
    FILE *f = fopen("/proc/self/exe", "rb");
    if (f == NULL)
        return 0;
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        for (size_t i = 0; i < n; i++)
            h = (h ^ part[i]) * 0x100000001b3u;
    fclose(f);
    return h;
}

void bench_binary(struct bench *b, const char *json)
{
    size_t n = strlen(json), room = n + 40;
    b->binary = (char *)malloc(room);
    if (b->binary == NULL || n < 2)
        bench_die(b, BENCH_INTERNAL, "no memory, or no description");
    if (strstr(json, "\"id\":") != NULL)
        memcpy(b->binary, json, n + 1);
    else /* only the executable can tell which one it is */
        snprintf(b->binary, room, "%.*s, \"id\": \"%016" PRIx64 "\"}", (int)n - 1, json, own_id());
    if (bench_int(b, "print-config")) {
        puts(b->binary);
        exit(bench_written(b, BENCH_GOOD, "what this binary is"));
    }
}

void bench_binary_peer(struct bench *b, const char *runtime, const char *version, const char *more)
{
    char json[2048];
#if defined(__clang__)
    const char *compiler = "clang " __clang_version__;
#else
    const char *compiler = "gcc " __VERSION__;
#endif
    snprintf(json, sizeof json,
             "{\"version\": \"%s\", \"runtime\": \"%s\", \"scheduler\": null, \"knobs\": {}, \"poller\": null, "
             "\"context\": null, \"observe\": null, \"compiler\": \"%.*s\"%s%s}",
             version, runtime, (int)strcspn(compiler, "("), compiler, more[0] != '\0' ? ", " : "", more);
    bench_binary(b, json);
}

/* ---- measurements ---- */

bool bench_warmup(const struct bench *b, int rep)
{
    return rep < bench_int(b, "warmup");
}

int bench_reps(const struct bench *b)
{
    return (int)(bench_int(b, "warmup") + bench_int(b, "reps"));
}

void bench_sample(struct bench *b, const char *metric, const char *unit, double value, int rep)
{
    if (b->filled == b->room) {
        b->room = b->room == 0 ? 64 : 2 * b->room;
        b->samples = (struct bench_sample *)realloc(b->samples, b->room * sizeof *b->samples);
        if (b->samples == NULL)
            bench_die(b, BENCH_INTERNAL, "no memory");
    }
    b->samples[b->filled++] = (struct bench_sample){metric, unit, value, rep};
}

void bench_count(struct bench *b, const char *name, double value)
{
    for (size_t i = 0; i < b->counted; i++)
        if (strcmp(b->counters[i].name, name) == 0) {
            b->counters[i].value += value;
            return;
        }
    if (b->counted == BENCH_COUNTERS)
        bench_die(b, BENCH_INTERNAL, "more than %d counters", BENCH_COUNTERS);
    struct bench_counter *c = &b->counters[b->counted++];
    snprintf(c->name, sizeof c->name, "%s", name);
    c->value = value;
}

void bench_unavailable(struct bench *b, const char *name, const char *why)
{
    if (b->missing_n == BENCH_MISSING)
        bench_die(b, BENCH_INTERNAL, "more than %d counters are unavailable", BENCH_MISSING);
    b->missing[b->missing_n++] = (struct bench_missing){name, why};
}

void bench_hist(struct bench *b, const char *metric, const char *unit, const struct hdr *h)
{
    if (b->hist_n == BENCH_HISTS)
        bench_die(b, BENCH_INTERNAL, "more than %d histograms", BENCH_HISTS);
    b->hists[b->hist_n++] = (struct bench_hist){metric, unit, h};
}

static void tell(struct bench *b, int status, const char *format, va_list args)
{
    if (b->status == 1 || (b->status != 0 && status != 1))
        return; /* invalid outweighs saturated; of equals the first stays */
    b->status = status;
    vsnprintf(b->message, sizeof b->message, format, args);
}

void bench_invalid(struct bench *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(b, 1, format, args);
    va_end(args);
}

void bench_saturated(struct bench *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(b, 2, format, args);
    va_end(args);
}

/* ---- output ---- */

static const char *const statuses[] = {"ok", "invalid", "saturated"};

static const char *load_kind(const struct bench *b)
{
    const struct bench_option *rate = bench_find(b, "rate");
    return b->open || (rate != NULL && rate->text != NULL) ? "open" : "closed";
}

static void json(const struct bench *b)
{
    static const char *const apart[] = {"seed", "json", "hist", "list", "print-config", "help"};
    printf("{\"schema\": 1, \"program\": ");
    bench_json_string(b->program);
    printf(", \"status\": \"%s\", \"message\": ", statuses[b->status]);
    bench_json_string(b->message[0] != '\0' ? b->message : NULL);
    printf(",\n \"clock\": ");
    bench_json_string(b->clock);
    printf(", \"load\": \"%s\",\n \"binary\": %s,\n \"params\": {", load_kind(b),
           b->binary != NULL ? b->binary : "{}");
    bool first = true;
    for (size_t i = 0; i < b->n + b->commons; i++) {
        const struct bench_option *o = i < b->n ? &b->own[i] : &b->common[i - b->n];
        bool skip = false;
        for (size_t k = 0; k < sizeof apart / sizeof *apart; k++)
            skip = skip || strcmp(o->name, apart[k]) == 0;
        if (skip)
            continue;
        printf("%s\"%s\": ", first ? "" : ", ", o->name);
        bench_json_value(o);
        first = false;
    }
    printf("}, \"seed\": %" PRId64 ",\n \"samples\": [", bench_int(b, "seed"));
    for (size_t i = 0; i < b->filled; i++) {
        const struct bench_sample *s = &b->samples[i];
        printf("%s\n  {\"metric\": \"%s\", \"unit\": \"%s\", \"value\": ", i == 0 ? "" : ",", s->metric, s->unit);
        bench_json_number(s->value);
        printf(", \"rep\": %d, \"warmup\": %s}", s->rep, bench_warmup(b, s->rep) ? "true" : "false");
    }
    printf("],\n \"hist\": {");
    for (size_t i = 0; bench_int(b, "hist") && i < b->hist_n; i++) {
        unsigned at = 0;
        struct hdr_step step;
        printf("%s\"%s\": {\"unit\": \"%s\", \"buckets\": [", i == 0 ? "" : ", ", b->hists[i].metric,
               b->hists[i].unit);
        for (bool start = true; hdr_next(b->hists[i].hdr, &at, &step); start = false)
            printf("%s[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", start ? "" : ", ", step.lowest, step.highest,
                   step.count);
        printf("]}");
    }
    printf("},\n \"counters\": {");
    for (size_t i = 0; i < b->counted; i++) {
        printf("%s\"%s\": ", i == 0 ? "" : ", ", b->counters[i].name);
        bench_json_number(b->counters[i].value);
    }
    for (size_t i = 0; i < b->missing_n; i++)
        printf("%s\"%s\": null", i == 0 && b->counted == 0 ? "" : ", ", b->missing[i].name);
    printf("},\n \"unavailable\": {");
    for (size_t i = 0; i < b->missing_n; i++) {
        printf("%s\"%s\": ", i == 0 ? "" : ", ", b->missing[i].name);
        bench_json_string(b->missing[i].why);
    }
    putchar('}');
#if defined(TENTER_SIMULATED)
    printf(",\n \"sim\": ");
    tn_simulated(true);
#endif
    puts("}");
}

/* A value for people: nanoseconds as µs, ms or s, rates as k or M, both to three digits; all else as it is. */
static const char *human(char out[32], double value, const char *unit)
{
    static const struct {
        double size;
        const char *time, *rate;
    } steps[] = {{1e9, "s", "G/s"}, {1e6, "ms", "M/s"}, {1e3, "µs", "k/s"}, {0, "ns", "/s"}};
    bool time = strcmp(unit, "ns") == 0 || strcmp(unit, "s") == 0, rate = strcmp(unit, "1/s") == 0;
    double v = strcmp(unit, "s") == 0 ? value * 1e9 : value;
    size_t i = 0;
    while (fabs(v) < steps[i].size * 0.9995)
        i++;
    double scaled = steps[i].size > 0 ? v / steps[i].size : v;
    if (time || rate)
        snprintf(out, 32, fabs(scaled) >= 999.5 ? "%.0f %s" : "%.3g %s", scaled,
                 time ? steps[i].time : steps[i].rate);
    else
        snprintf(out, 32, "%.6g%s%s", value, strcmp(unit, "1") == 0 ? "" : " ", strcmp(unit, "1") == 0 ? "" : unit);
    return out;
}

/* Padded to `width` letters, which are fewer than bytes where there is a µ. */
static void column(double value, const char *unit, int width)
{
    char text[32];
    int letters = 0;
    human(text, value, unit);
    for (const char *c = text; *c != '\0'; c++)
        letters += ((unsigned char)*c & 0xc0) != 0x80;
    printf(" %*s%s", width > letters ? width - letters : 0, "", text);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void table_metric(const struct bench *b, size_t first, double *values)
{
    const struct bench_sample *s = &b->samples[first];
    size_t n = 0;
    for (size_t i = 0; i < first; i++)
        if (strcmp(b->samples[i].metric, s->metric) == 0)
            return; /* shown already */
    for (size_t i = first; i < b->filled; i++)
        if (strcmp(b->samples[i].metric, s->metric) == 0 && !bench_warmup(b, b->samples[i].rep))
            values[n++] = b->samples[i].value;
    if (n == 0)
        return;
    qsort(values, n, sizeof *values, compare);
    double median = (values[(n - 1) / 2] + values[n / 2]) / 2;
    printf("  %-24s", s->metric);
    column(median, s->unit, 13);
    column(values[0], s->unit, 13);
    column(values[n - 1], s->unit, 13);
    printf("  %zu\n", n);
}

static void table(const struct bench *b)
{
    static const double percents[] = {50, 90, 99, 99.9, 99.99};
    printf("%s: %s%s%s, %s load, %" PRId64 " workers, seed %" PRId64 "\n", b->program, statuses[b->status],
           b->message[0] != '\0' ? ": " : "", b->message, load_kind(b), bench_int(b, "workers"),
           bench_int(b, "seed"));
    double *values = (double *)malloc((b->filled + 1) * sizeof *values);
    if (values == NULL)
        bench_die(b, BENCH_INTERNAL, "no memory");
    printf("  %-24s %13s %13s %13s  %s\n", "metric", "median", "least", "greatest", "n");
    for (size_t i = 0; i < b->filled; i++)
        table_metric(b, i, values);
    free(values);
    for (size_t i = 0; i < b->hist_n; i++) {
        const struct hdr *h = b->hists[i].hdr;
        const char *unit = b->hists[i].unit;
        char text[32];
        printf("  %s of %" PRIu64 ":", b->hists[i].metric, h->total);
        for (size_t k = 0; k < sizeof percents / sizeof *percents; k++)
            if (hdr_supports(h, percents[k]))
                printf("  p%g %s", percents[k], human(text, (double)hdr_percentile(h, percents[k]), unit));
        printf("  greatest %s\n", human(text, (double)h->most, unit));
    }
    for (size_t i = 0, shown = 0; i < b->counted; i++)
        if (b->counters[i].value != 0)
            printf("%s%s %.10g", shown++ == 0 ? "  counters: " : ", ", b->counters[i].name, b->counters[i].value);
    if (b->counted > 0)
        putchar('\n');
    for (size_t i = 0; i < b->missing_n; i++)
        printf("  unavailable: %s (%s)\n", b->missing[i].name, b->missing[i].why);
#if defined(TENTER_SIMULATED)
    tn_simulated(false);
#endif
}

int bench_finish(struct bench *b)
{
    bench_counters_record(b);
    if (bench_int(b, "json"))
        json(b);
    else
        table(b);
    /* a full disk must not look like a result */
    int code = bench_written(b, b->status == 1 ? BENCH_WRONG : BENCH_GOOD, "the result");
    free(b->binary);
    free(b->samples);
    free(b->common);
    return code;
}
