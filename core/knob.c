/* SPDX-License-Identifier: MIT
 *
 * Parsing knobs against their tables; messages that name the nearest valid name, or the range.
 */
#include "knob.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "platform.h"

/* Edit distance, for short names. */
static size_t distance(const char *a, size_t n, const char *b)
{
    size_t m = strlen(b), row[64];
    if (n >= 63 || m >= 63)
        return SIZE_MAX;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t cost = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < cost)
                cost = row[j] + 1;
            if (row[j - 1] + 1 < cost)
                cost = row[j - 1] + 1;
            row[j] = cost;
        }
    }
    return row[m];
}

const char *tn_nearest(const char *name, const char *const *names, size_t n)
{
    const char *best = NULL;
    size_t least = SIZE_MAX, length = strcspn(name, ":=");
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(name, length, names[i]);
        if (d < least) {
            least = d;
            best = names[i];
        }
    }
    return least <= length / 2 + 1 ? best : NULL;
}

static bool choice(const char *choices, const char *text, size_t length, int64_t *value)
{
    int64_t i = 0;
    for (const char *c = choices; *c != '\0'; i++) {
        size_t n = strcspn(c, "|");
        if (n == length && memcmp(c, text, n) == 0) {
            *value = i;
            return true;
        }
        c += n + (c[n] == '|');
    }
    return false;
}

static bool number(const char *text, size_t length, int64_t *value)
{
    char digits[32], *end;
    size_t sign = length != 0 && text[0] == '-';
    if (length >= sizeof digits || length == sign || text[sign] < '0' || text[sign] > '9')
        return false; /* strtoll would take white space and a plus */
    if (length > sign + 1 && text[sign] == '0' && text[sign + 1] >= '0' && text[sign + 1] <= '9')
        return false; /* 010: eight or ten? And of digits that each mean something one would be lost */
    memcpy(digits, text, length);
    digits[length] = '\0';
    errno = 0;
    long long v = strtoll(digits, &end, digits[sign] == '0' && digits[sign + 1] == 'x' ? 16 : 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    end += shift != 0;
    if (errno != 0 || end == digits || *end != '\0' || v > INT64_MAX >> (shift + 1) ||
        v < -(INT64_MAX >> (shift + 1)))
        return false;
    *value = (int64_t)v * ((int64_t)1 << shift);
    return true;
}

int tn_knob_value(const char *what, const struct tn_knob *row, const char *text, size_t length, int64_t *value)
{
    if (row->choices != NULL) {
        if (choice(row->choices, text, length, value))
            return 0;
        tn_message("tenter: %s: %s=%.*s: it must be %s%s", what, row->name, (int)length, text,
                   strchr(row->choices, '|') != NULL ? "one of " : "", row->choices);
        return EINVAL;
    }
    bool is_number = number(text, length, value);
    if (is_number && *value >= row->low && *value <= row->high)
        return 0;
    tn_message("tenter: %s: %s=%.*s is %s: %lld to %lld%s%s", what, row->name, (int)length, text,
               is_number ? "out of range" : "no number, which K, M or G may follow", (long long)row->low,
               (long long)row->high, row->unit[0] ? " " : "", row->unit);
    return EINVAL;
}

int tn_knobs_parse(const char *what, const struct tn_knob *row, size_t n, const char *text, int64_t *values)
{
    for (size_t i = 0; i < n; i++)
        values[i] = row[i].fixed != TN_NOT_FIXED ? row[i].fixed : row[i].initial;
    uint64_t given = 0; /* a bit each */
    while (*text != '\0') {
        text += *text == ':';
        size_t length = strcspn(text, ":");
        const char *equals = memchr(text, '=', length);
        size_t name = equals != NULL ? (size_t)(equals - text) : length;
        size_t i = 0;
        while (i < n && !(strlen(row[i].name) == name && memcmp(row[i].name, text, name) == 0))
            i++;
        if (i == n || equals == NULL) {
            const char *names[TN_KNOBS_MAX];
            for (size_t k = 0; k < n && k < TN_KNOBS_MAX; k++)
                names[k] = row[k].name;
            const char *nearest = i < n ? row[i].name : tn_nearest(text, names, n);
            char have[256] = "; it has ";
            for (size_t k = 0; k < n && k < TN_KNOBS_MAX; k++) {
                strncat(have, k != 0 ? ", " : "", sizeof have - strlen(have) - 1);
                strncat(have, names[k], sizeof have - strlen(have) - 1);
            }
            tn_message("tenter: %s: no knob '%.*s'%s%s%s", what, (int)name, text,
                       nearest != NULL ? "; did you mean '"
                       : n == 0        ? "; it has none"
                                       : have,
                       nearest != NULL ? nearest : "", nearest != NULL ? "=…'?" : "");
            return EINVAL;
        }
        if (given & UINT64_C(1) << i) {
            tn_message("tenter: %s: %s is given twice", what, row[i].name);
            return EINVAL;
        }
        given |= UINT64_C(1) << i;
        int64_t value;
        if (tn_knob_value(what, &row[i], equals + 1, length - name - 1, &value) != 0)
            return EINVAL;
        if (row[i].fixed != TN_NOT_FIXED && row[i].fixed != value) {
            tn_message("tenter: %s: %s is fixed by this build", what, row[i].name);
            return EINVAL;
        }
        values[i] = value;
        text += length;
    }
    return 0;
}
