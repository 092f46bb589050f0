/* SPDX-License-Identifier: MIT
 *
 * Knobs: every number or choice that a user may set, of the core, of a module or of a poller, is a row of one
 * table, which serves parsing, validation, help, documentation and `./tenter list` alike.
 *
 * An owner of knobs writes its table once, as an X-macro, and names itself:
 *
 *     #define TN_KNOB_OWNER fifo
 *     #define FIFO_KNOBS(K)                                                                   \
 *         K(layout, "local|global", 0, 0, 1, "", "where ready fibres wait", "003 §4.3")        \
 *         K(capacity, NULL, 128, 1, 65536, "fibres", "size of a local queue", "003 §7.1.1")
 *     enum { FIFO_KNOBS(TN_KNOB_ENUM) };
 *     static const struct tn_knob fifo_knobs[] = {FIFO_KNOBS(TN_KNOB_ROW)};
 *
 * and reads a value as TN_KNOB(values, fifo, capacity). That is a load at run time, unless the build fixed it
 * (-Dschedulers=fifo:capacity=64): then meson defines TN_FIX_fifo_capacity and it is a constant.
 */
#ifndef TN_KNOB_H
#define TN_KNOB_H

#include <stddef.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include("tn_fixed.h")
#include "tn_fixed.h"
#endif
#endif

#define TN_NOT_FIXED INT64_MIN
#define TN_KNOBS_MAX 24

struct tn_knob {
    const char *name;
    const char *choices; /* "local|global": the values have names, 0, 1, …; NULL: a number */
    int64_t initial, low, high;
    const char *unit;
    const char *help;
    const char *from; /* the source work, with its section */
    int64_t fixed;    /* what the build fixed it to, or TN_NOT_FIXED */
};

/* TN_FIX_<owner>_<knob> is defined by the build as `~, value`, so that it brings a second argument where an
 * undefined name brings none. */
#define TN_KNOB_SECOND_(a, b, ...)     b
#define TN_KNOB_PICK_(...)             TN_KNOB_SECOND_(__VA_ARGS__)
#define TN_KNOB_FIX2_(o, k, otherwise) TN_KNOB_PICK_(TN_FIX_##o##_##k, otherwise, ~)
#define TN_KNOB_FIX_(o, k, otherwise)  TN_KNOB_FIX2_(o, k, otherwise)
#define TN_KNOB_NAME2_(o, k)           o##_knob_##k
#define TN_KNOB_NAME_(o, k)            TN_KNOB_NAME2_(o, k)

#define TN_KNOB(values, o, k) ((int64_t)TN_KNOB_FIX_(o, k, (values)[TN_KNOB_NAME_(o, k)]))
#define TN_KNOB_ENUM(k, ...)  TN_KNOB_NAME_(TN_KNOB_OWNER, k),
#define TN_KNOB_ROW(k, choices, initial, low, high, unit, help, from) \
    {#k, choices, initial, low, high, unit, help, from, TN_KNOB_FIX_(TN_KNOB_OWNER, k, TN_NOT_FIXED)},

/* Parse "name:knob=value:knob=value" against a table into values[]: defaults first, then what the build fixed,
 * then the text. Returns 0 or EINVAL with a one-line message: nearest name, or the range. `what` names the
 * owner in messages ("scheduler fifo"). `text` starts behind the name, at a colon or at its end. */
int tn_knobs_parse(const char *what, const struct tn_knob *row, size_t n, const char *text, int64_t *values);

/* One value from text, as above: number with an optional suffix K, M, G, or a choice by name. */
int tn_knob_value(const char *what, const struct tn_knob *row, const char *text, size_t length, int64_t *value);

/* Nearest of n names to a mistyped one, for messages; NULL if none is near. */
const char *tn_nearest(const char *name, const char *const *names, size_t n);

#endif
