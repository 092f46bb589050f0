/* SPDX-License-Identifier: MIT
 *
 * Numbers in the protocol of kvcache, and in its values; see kvstore.h.
 */
#include "kvstore.h"

static bool space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The absolute value, and whether there is a minus. */
static bool number(const char *text, size_t n, uint64_t *value, bool *minus)
{
    size_t i = 0;
    while (i < n && space(text[i]))
        i++;
    *minus = i < n && text[i] == '-';
    if (i < n && (text[i] == '-' || text[i] == '+'))
        i++;
    size_t first = i;
    for (*value = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(text[i] - '0'), value))
            return false;
    return i > first && (i == n || space(text[i]) || text[i] == '\0');
}

bool kv_unsigned(const char *text, size_t n, uint64_t *value)
{
    bool minus;
    if (!number(text, n, value, &minus))
        return false;
    *value = minus ? 0 - *value : *value;
    return !minus || *value <= INT64_MAX; /* as memcached has it: what comes round to a positive number is one */
}

bool kv_signed(const char *text, size_t n, int64_t *value)
{
    bool minus;
    uint64_t all;
    if (!number(text, n, &all, &minus) || all > (uint64_t)INT64_MAX + minus)
        return false;
    *value = (int64_t)(minus ? 0 - all : all); /* the least one has no opposite */
    return true;
}

size_t kv_digits(char *to, uint64_t value)
{
    char all[20];
    size_t n = 0;
    do
        all[n++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    for (size_t i = 0; i < n; i++)
        to[i] = all[n - 1 - i];
    return n;
}
