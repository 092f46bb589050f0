/* SPDX-License-Identifier: MIT
 *
 * Options: one table a program, one table of common ones; both serve parsing, ranges, --help and --list.
 */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct common {
    unsigned takes; /* 0: every program takes it */
    struct bench_option option;
} commons[] = {
    {0,
     {"workers", BENCH_INT, "0", 0, 4096, NULL, "threads",
      "operating-system threads that run fibres; 0: the processors this process may use", NULL, 0, 0, false}},
    {BENCH_TAKES_FIBRES,
     {"fibres", BENCH_INT, "1", 1, 1e7, NULL, "fibres", "fibres of the workload", NULL, 0, 0, false}},
    {BENCH_TAKES_OPS,
     {"ops", BENCH_INT, NULL, 1, 1e12, NULL, "operations", "operations of one repetition", NULL, 0, 0, false}},
    {BENCH_TAKES_DURATION,
     {"duration", BENCH_REAL, NULL, 1e-3, 86400, NULL, "s", "length of one repetition", NULL, 0, 0, false}},
    {0,
     {"warmup", BENCH_INT, "1", 0, 1000, NULL, "repetitions", "repetitions run first, kept and flagged", NULL, 0, 0,
      false}},
    {0, {"reps", BENCH_INT, "5", 1, 100000, NULL, "repetitions", "repetitions that count", NULL, 0, 0, false}},
    {0, {"seed", BENCH_INT, "1", 0, 9007199254740991.0, NULL, "", "seed of every random choice", NULL, 0, 0, false}},
    {0, {"pin", BENCH_FLAG, NULL, 0, 1, NULL, "", "pin each worker to a processor", NULL, 0, 0, false}},
    {BENCH_TAKES_RATE,
     {"rate", BENCH_REAL, NULL, 1e-3, 1e12, NULL, "1/s", "open loop at this rate; absent: closed loop", NULL, 0, 0,
      false}},
    {BENCH_TAKES_SCHEDULER,
     {"scheduler", BENCH_TEXT, NULL, 0, 0, NULL, "", "module and knobs, as TENTER_SCHEDULER (fifo:layout=global)",
      NULL, 0, 0, false}},
    {0,
     {"counters", BENCH_CHOICE, "none", 0, 0, "none|perf|likwid", "",
      "count around what is measured: perf events of the kernel, or a group of likwid's", NULL, 0, 0, false}},
    {0,
     {"likwid-group", BENCH_TEXT, "CLOCK", 0, 0, NULL, "", "--counters likwid: which group (likwid-perfctr -a)", NULL,
      0, 0, false}},
    {0,
     {"json", BENCH_FLAG, NULL, 0, 1, NULL, "", "one JSON object on standard output, nothing else", NULL, 0, 0,
      false}},
    {0, {"hist", BENCH_FLAG, NULL, 0, 1, NULL, "", "include full histogram buckets", NULL, 0, 0, false}},
    {0,
     {"list", BENCH_FLAG, NULL, 0, 1, NULL, "", "the options with type, range, default and unit, as JSON", NULL, 0, 0,
      false}},
    {0, {"print-config", BENCH_FLAG, NULL, 0, 1, NULL, "", "what this binary is, as JSON", NULL, 0, 0, false}},
    {0, {"help", BENCH_FLAG, NULL, 0, 1, NULL, "", "this text", NULL, 0, 0, false}},
};

void bench_die(const struct bench *b, int code, const char *format, ...)
{
    va_list args;
    fflush(stdout);
    fprintf(stderr, "%s: ", b->program);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(code);
}

int bench_written(const struct bench *b, int code, const char *what)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "%s: %s cannot be written to standard output%s%s\n", b->program, what, errno != 0 ? ": " : "",
            errno != 0 ? strerror(errno) : "");
    return BENCH_INTERNAL;
}

/* ---- finding ---- */

struct bench_option *bench_find(const struct bench *b, const char *name)
{
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->own[i].name, name) == 0)
            return &b->own[i];
    for (size_t i = 0; i < b->commons; i++)
        if (strcmp(b->common[i].name, name) == 0)
            return &b->common[i];
    return NULL;
}

static struct bench_option *must(const struct bench *b, const char *name)
{
    struct bench_option *o = bench_find(b, name);
    if (o == NULL)
        bench_die(b, BENCH_INTERNAL, "the program asks for an option it does not have: %s", name);
    return o;
}

/* Changes of one letter (insert, drop, replace) that turn `a` into the first `length` letters of `b`. */
static unsigned distance(const char *a, const char *b, size_t length)
{
    unsigned row[64];
    size_t n = strlen(a);
    if (length > 62)
        length = 62;
    for (size_t j = 0; j <= length; j++)
        row[j] = (unsigned)j;
    for (size_t i = 0; i < n; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t j = 0; j < length; j++) {
            unsigned replace = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            unsigned other = 1 + (row[j] < diagonal ? row[j] : diagonal);
            row[j + 1] = replace < other ? replace : other;
        }
    }
    return row[length];
}

static void unknown(const struct bench *b, const char *name)
{
    const char *best = "help";
    unsigned least = UINT32_MAX;
    for (size_t i = 0; i < b->n + b->commons; i++) {
        const char *candidate = i < b->n ? b->own[i].name : b->common[i - b->n].name;
        unsigned d = distance(name, candidate, strlen(candidate));
        if (d < least) {
            least = d;
            best = candidate;
        }
    }
    for (size_t i = 0; i < sizeof commons / sizeof *commons; i++)
        if (strcmp(commons[i].option.name, name) == 0)
            bench_die(b, BENCH_USAGE,
                      "option --%s has no meaning here; the nearest that has is --%s (--help shows all)", name, best);
    if (least > (strlen(name) + 1) / 2) /* nobody means what has hardly a letter of it */
        bench_die(b, BENCH_USAGE, "no option --%s (--help shows all)", name);
    bench_die(b, BENCH_USAGE, "no option --%s; did you mean --%s? (--help shows all)", name, best);
}

/* ---- values ---- */

/* Which of "a|b|c" is the text of this length? -1: none. `*nearest` is then the one that differs least. */
static int choose(const char *choices, const char *text, size_t length, const char **nearest, size_t *nearest_length)
{
    char word[64];
    unsigned least = UINT32_MAX;
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    int which = 0;
    for (const char *at = choices;; which++) {
        size_t n = strcspn(at, "|");
        if (n == length && strncmp(at, text, n) == 0)
            return which;
        unsigned d = distance(word, at, n);
        if (d < least) {
            least = d;
            *nearest = at;
            *nearest_length = n;
        }
        if (at[n] == '\0')
            return -1;
        at += n + 1;
    }
}

static void assign(const struct bench *b, struct bench_option *o, const char *text)
{
    char *end = NULL;
    const char *near = "";
    size_t length = 0;
    o->text = text;
    errno = 0;
    switch (o->type) {
    case BENCH_INT: {
        o->number = strtoll(text, &end, 0);
        bool whole = end != text && *end == '\0' && errno == 0;
        if (!whole) { /* 5e4 is a whole number, too */
            double d = strtod(text, &end);
            whole = end != text && *end == '\0' && fabs(d) < 9e15 && d == floor(d);
            o->number = whole ? (int64_t)d : 0;
        }
        if (!whole)
            bench_die(b, BENCH_USAGE, "--%s takes a whole number from %.0f to %.0f, not \"%s\"", o->name, o->low,
                      o->high, text);
        o->real = (double)o->number;
        if (o->real < o->low || o->real > o->high)
            bench_die(b, BENCH_USAGE, "--%s %s is out of range: %.0f to %.0f%s%s", o->name, text, o->low, o->high,
                      o->unit[0] != '\0' ? " " : "", o->unit);
        break;
    }
    case BENCH_REAL:
        o->real = strtod(text, &end);
        if (end == text || *end != '\0' || !isfinite(o->real) || o->real < o->low || o->real > o->high)
            bench_die(b, BENCH_USAGE, "--%s %s: a number from %g to %g%s%s is needed", o->name, text, o->low, o->high,
                      o->unit[0] != '\0' ? " " : "", o->unit);
        break;
    case BENCH_FLAG:
        o->number = 1;
        break;
    case BENCH_TEXT:
        break;
    case BENCH_CHOICE:
    case BENCH_LIST:
        for (const char *at = text;; at++) {
            size_t n = o->type == BENCH_LIST ? strcspn(at, ",") : strlen(at);
            int which = choose(o->choices, at, n, &near, &length);
            if (which < 0)
                bench_die(b, BENCH_USAGE, "--%s: no \"%.*s\"; did you mean %.*s? (there are %s)", o->name, (int)n, at,
                          (int)length, near, o->choices);
            o->number = which;
            at += n;
            if (*at == '\0')
                break;
        }
        break;
    }
}

int64_t bench_int(const struct bench *b, const char *name)
{
    return must(b, name)->number;
}

double bench_real(const struct bench *b, const char *name)
{
    return must(b, name)->real;
}

const char *bench_text(const struct bench *b, const char *name)
{
    return must(b, name)->text;
}

bool bench_given(const struct bench *b, const char *name)
{
    return must(b, name)->given;
}

bool bench_lists(const struct bench *b, const char *name, const char *item)
{
    size_t length = strlen(item);
    for (const char *at = must(b, name)->text; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, item, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

void bench_set_int(struct bench *b, const char *name, int64_t value)
{
    struct bench_option *o = must(b, name);
    o->number = value;
    o->real = (double)value;
    o->text = o->text != NULL ? o->text : ""; /* it has a value now */
}

void bench_set_text(struct bench *b, const char *name, const char *value)
{
    must(b, name)->text = value;
}

/* ---- help and list ---- */

static void help_one(const struct bench_option *o)
{
    char left[64];
    static const char *const kinds[] = {" N", " X", "", " TEXT", " NAME", " NAME,..."};
    snprintf(left, sizeof left, "--%s%s", o->name, kinds[o->type]);
    printf("  %-20s %s", left, o->help);
    if (o->type == BENCH_INT || o->type == BENCH_REAL)
        printf(o->type == BENCH_INT ? " (%.0f to %.0f%s%s" : " (%.12g to %.12g%s%s", o->low, o->high,
               o->unit[0] != '\0' ? " " : "", o->unit);
    else if (o->choices != NULL)
        printf(" (%s", o->choices);
    else {
        putchar('\n');
        return;
    }
    if (o->initial != NULL)
        printf("; default %s", o->initial);
    puts(")");
}

static void help(const struct bench *b)
{
    printf("%s: %s\n\nClock: %s.\n\nOptions:\n", b->program, b->about, b->clock);
    for (size_t i = 0; i < b->n; i++)
        help_one(&b->own[i]);
    puts("\nCommon options:");
    for (size_t i = 0; i < b->commons; i++)
        help_one(&b->common[i]);
    puts("\nExit: 0 good, 1 the answer was wrong, 2 usage, 77 unsupported here, 99 internal.");
}

static void list_one(const struct bench_option *o, bool common, bool first)
{
    static const char *const types[] = {"int", "real", "flag", "text", "choice", "list"};
    printf("%s\n  {\"name\": ", first ? "" : ",");
    bench_json_string(o->name);
    printf(", \"type\": \"%s\", \"range\": ", types[o->type]);
    bool ranged = o->type == BENCH_INT || o->type == BENCH_REAL;
    if (ranged) {
        putchar('[');
        bench_json_number(o->low);
        printf(", ");
        bench_json_number(o->high);
        putchar(']');
    } else
        bench_json_string(o->type == BENCH_CHOICE ? o->choices : NULL);
    if (o->type == BENCH_LIST) {
        printf(", \"items\": ");
        bench_json_string(o->choices);
    }
    printf(", \"default\": ");
    if (o->initial == NULL)
        printf(o->type == BENCH_FLAG ? "false" : "null");
    else if (ranged)
        bench_json_number(strtod(o->initial, NULL));
    else
        bench_json_string(o->initial);
    printf(", \"unit\": ");
    bench_json_string(o->unit);
    printf(", \"common\": %s, \"help\": ", common ? "true" : "false");
    bench_json_string(o->help);
    putchar('}');
}

static void list(const struct bench *b)
{
    printf("{\"schema\": 1, \"program\": ");
    bench_json_string(b->program);
    printf(", \"about\": ");
    bench_json_string(b->about);
    printf(", \"clock\": ");
    bench_json_string(b->clock);
    printf(", \"options\": [");
    for (size_t i = 0; i < b->n; i++)
        list_one(&b->own[i], false, i == 0);
    for (size_t i = 0; i < b->commons; i++)
        list_one(&b->common[i], true, b->n == 0 && i == 0);
    puts("]}");
}

/* ---- the command line ---- */

static void initial_values(struct bench *b)
{
    b->common = (struct bench_option *)calloc(sizeof commons / sizeof *commons, sizeof *b->common);
    if (b->common == NULL)
        bench_die(b, BENCH_INTERNAL, "no memory");
    b->commons = 0;
    for (size_t i = 0; i < sizeof commons / sizeof *commons; i++) {
        bool replaced = false; /* a program's own row of the same name has another range or default */
        for (size_t k = 0; k < b->n; k++)
            replaced = replaced || strcmp(b->own[k].name, commons[i].option.name) == 0;
        if (!replaced && (commons[i].takes == 0 || (commons[i].takes & b->takes) != 0))
            b->common[b->commons++] = commons[i].option;
    }
    for (size_t i = 0; i < b->n + b->commons; i++) {
        struct bench_option *o = i < b->n ? &b->own[i] : &b->common[i - b->n];
        if (o->initial != NULL)
            assign(b, o, o->initial);
    }
}

/* Tenter's own programs: an option that is not given is what the variable says that the runtime has for it, as with
 * --scheduler; what is recorded is what was used. One that is given counts, and the runtime looks at the variable. */
static void from_environment(struct bench *b)
{
    static const char *const both[][2] = {
        {"workers", "TENTER_WORKERS"}, {"pin", "TENTER_PIN"}, {"seed", "TENTER_SEED"}};
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        const struct bench_option *o = must(b, both[i][0]);
        const char *text = getenv(both[i][1]);
        char *end = NULL;
        if (text == NULL || o->given)
            continue;
        errno = 0;
        long long value = strtoll(text, &end, 0);
        if (end == text || *end != '\0' || errno != 0 || (double)value < o->low || (double)value > o->high)
            bench_die(b, BENCH_USAGE, "%s=%s: a whole number from %.0f to %.0f is needed", both[i][1], text, o->low,
                      o->high);
        bench_set_int(b, o->name, value);
    }
}

void bench_start(struct bench *b, int argc, char **argv)
{
    initial_values(b);
    for (int i = 1; i < argc; i++) {
        char name[64];
        const char *arg = argv[i], *value = NULL;
        if (strncmp(arg, "--", 2) != 0 || arg[2] == '\0')
            bench_die(b, BENCH_USAGE, "\"%s\" is no option (--help shows all)", arg);
        size_t n = strcspn(arg + 2, "=");
        snprintf(name, sizeof name, "%.*s", (int)n, arg + 2);
        struct bench_option *o = bench_find(b, name);
        if (o == NULL)
            unknown(b, name);
        if (arg[2 + n] == '=')
            value = arg + 3 + n;
        if (o->type == BENCH_FLAG && value != NULL)
            bench_die(b, BENCH_USAGE, "--%s takes no value", name);
        if (o->type != BENCH_FLAG && value == NULL) {
            if (++i == argc)
                bench_die(b, BENCH_USAGE, "--%s needs a value", name);
            value = argv[i];
        }
        if (o->given)
            bench_die(b, BENCH_USAGE, "--%s is given twice", name);
        assign(b, o, value != NULL ? value : "true");
        o->given = true;
    }
    if (bench_int(b, "help") || bench_int(b, "list")) {
        if (bench_int(b, "help"))
            help(b);
        else
            list(b);
        exit(bench_written(b, BENCH_GOOD, bench_int(b, "help") ? "the help" : "the list"));
    }
    if (b->takes & BENCH_TAKES_SCHEDULER)
        from_environment(b);
    unsigned processors = bench_processors();
    if (bench_int(b, "workers") == 0)
        bench_set_int(b, "workers", processors);
    if (!bench_int(b, "print-config"))
        bench_counters_open(b);
}
