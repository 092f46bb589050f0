/* SPDX-License-Identifier: MIT */
/* The parts of the C library that touch memory of the code under test, or that would be seen from outside. */
#define _GNU_SOURCE
#include "instrument.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PC (in_cur->pc)

static void reads(const void *p, size_t n)
{
    if (n > 0)
        in_plain(p, n, false, PC);
}

static void writes(void *p, size_t n)
{
    if (n > 0)
        in_plain(p, n, true, PC);
}

void *ex_memcpy(void *to, const void *from, size_t n);
void *ex_memcpy(void *to, const void *from, size_t n)
{
    IN_CALL();
    reads(from, n);
    writes(to, n);
    return memcpy(to, from, n);
}

void *ex_memmove(void *to, const void *from, size_t n);
void *ex_memmove(void *to, const void *from, size_t n)
{
    IN_CALL();
    reads(from, n);
    writes(to, n);
    return memmove(to, from, n);
}

void *ex_memset(void *to, int c, size_t n);
void *ex_memset(void *to, int c, size_t n)
{
    IN_CALL();
    writes(to, n);
    return memset(to, c, n);
}

int ex_memcmp(const void *a, const void *b, size_t n);
int ex_memcmp(const void *a, const void *b, size_t n)
{
    IN_CALL();
    reads(a, n);
    reads(b, n);
    return memcmp(a, b, n);
}

size_t ex_strlen(const char *s);
size_t ex_strlen(const char *s)
{
    IN_CALL();
    size_t n = strlen(s);
    reads(s, n + 1);
    return n;
}

int ex_strcmp(const char *a, const char *b);
int ex_strcmp(const char *a, const char *b)
{
    IN_CALL();
    reads(a, strlen(a) + 1);
    reads(b, strlen(b) + 1);
    return strcmp(a, b);
}

char *ex_strcpy(char *to, const char *from);
char *ex_strcpy(char *to, const char *from)
{
    IN_CALL();
    size_t n = strlen(from) + 1;
    reads(from, n);
    writes(to, n);
    return memcpy(to, from, n);
}

int ex_strncmp(const char *a, const char *b, size_t n);
int ex_strncmp(const char *a, const char *b, size_t n)
{
    IN_CALL();
    size_t i = 0;
    while (i < n && a[i] == b[i] && a[i] != '\0')
        i++;
    reads(a, i < n ? i + 1 : n);
    reads(b, i < n ? i + 1 : n);
    return strncmp(a, b, n);
}

char *ex_strncpy(char *to, const char *from, size_t n);
char *ex_strncpy(char *to, const char *from, size_t n)
{
    IN_CALL();
    size_t length = strnlen(from, n);
    reads(from, length < n ? length + 1 : n);
    writes(to, n);
    memset(to, 0, n);
    return memcpy(to, from, length);
}

char *ex_strcat(char *to, const char *from);
char *ex_strcat(char *to, const char *from)
{
    IN_CALL();
    size_t length = strlen(to), n = strlen(from) + 1;
    reads(to, length + 1);
    reads(from, n);
    writes(to + length, n);
    memcpy(to + length, from, n);
    return to;
}

/* As far as they look, or to the end of the string. */
char *ex_strchr(const char *s, int c);
char *ex_strchr(const char *s, int c)
{
    IN_CALL();
    char *found = strchr(s, c);
    reads(s, found != NULL ? (size_t)(found - s) + 1 : strlen(s) + 1);
    return found;
}

char *ex_strrchr(const char *s, int c);
char *ex_strrchr(const char *s, int c)
{
    IN_CALL();
    reads(s, strlen(s) + 1);
    return strrchr(s, c);
}

char *ex_strstr(const char *s, const char *what);
char *ex_strstr(const char *s, const char *what)
{
    IN_CALL();
    char *found = strstr(s, what);
    reads(what, strlen(what) + 1);
    reads(s, found != NULL ? (size_t)(found - s) + strlen(what) : strlen(s) + 1);
    return found;
}

void *ex_memchr(const void *p, int c, size_t n);
void *ex_memchr(const void *p, int c, size_t n)
{
    IN_CALL();
    char *found = memchr(p, c, n);
    reads(p, found != NULL ? (size_t)(found - (const char *)p) + 1 : n);
    return found;
}

/* As far as they look is not known: to the end of the string. */
int ex_atoi(const char *s);
int ex_atoi(const char *s)
{
    IN_CALL();
    reads(s, strlen(s) + 1);
    return atoi(s);
}

long ex_strtol(const char *s, char **end, int base);
long ex_strtol(const char *s, char **end, int base)
{
    IN_CALL();
    reads(s, strlen(s) + 1);
    if (end != NULL)
        writes((void *)end, sizeof(*end));
    errno = in_cur->error;
    long v = strtol(s, end, base);
    in_cur->error = errno;
    return v;
}

unsigned long ex_strtoul(const char *s, char **end, int base);
unsigned long ex_strtoul(const char *s, char **end, int base)
{
    IN_CALL();
    reads(s, strlen(s) + 1);
    if (end != NULL)
        writes((void *)end, sizeof(*end));
    errno = in_cur->error;
    unsigned long v = strtoul(s, end, base);
    in_cur->error = errno;
    return v;
}

static int format_into(char *to, size_t size, const char *format, va_list list)
{
    int n = vsnprintf(to, size, format, list);
    if (n >= 0 && size > 0)
        writes(to, (size_t)n < size ? (size_t)n + 1 : size);
    return n;
}

int ex_snprintf(char *to, size_t size, const char *format, ...);
int ex_snprintf(char *to, size_t size, const char *format, ...)
{
    IN_CALL();
    va_list list;
    va_start(list, format);
    int n = format_into(to, size, format, list);
    va_end(list);
    return n;
}

int ex_sprintf(char *to, const char *format, ...);
int ex_sprintf(char *to, const char *format, ...)
{
    IN_CALL();
    va_list list;
    va_start(list, format);
    int n = format_into(to, (size_t)INT_MAX, format, list);
    va_end(list);
    return n;
}

/* ---- ends ---- */

_Noreturn void ex___assert_fail(const char *text, const char *file, unsigned line, const char *function);
_Noreturn void ex___assert_fail(const char *text, const char *file, unsigned line, const char *function)
{
    IN_CALL();
    in_bug("assertion", "assertion failed: %s (%s:%u, %s)", text, file, line, function);
}

_Noreturn void ex_abort(void);
_Noreturn void ex_abort(void)
{
    IN_CALL();
    in_bug("abort", "abort() was called");
}

_Noreturn void ex_exit(int code);
_Noreturn void ex_exit(int code)
{
    IN_CALL();
    if (code != 0)
        in_bug("exit", "exit(%d) was called", code);
    in_over = in_cur->exits = true;
    in_op(0, 0, 0, 0, 0, OP_END * 8);
    __builtin_unreachable();
}

/* ---- errno: each thread's own ---- */

int *ex___errno_location(void);
int *ex___errno_location(void)
{
    return &in_cur->error;
}

/* ---- what programs for other checkers call ---- */

_Noreturn void ex_error(void);
_Noreturn void ex_error(void)
{
    IN_CALL();
    in_bug("assertion", "the program called its error function");
}

/* ---- output is dropped, but counted ---- */

int ex_printf(const char *format, ...);
int ex_printf(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(NULL, 0, format, list);
    va_end(list);
    return n;
}

int ex_fprintf(FILE *f, const char *format, ...);
int ex_fprintf(FILE *f, const char *format, ...)
{
    (void)f;
    va_list list;
    va_start(list, format);
    int n = vsnprintf(NULL, 0, format, list);
    va_end(list);
    return n;
}

size_t ex_fwrite(const void *p, size_t size, size_t n, FILE *f);
size_t ex_fwrite(const void *p, size_t size, size_t n, FILE *f)
{
    (void)p;
    (void)size;
    (void)f;
    return n;
}

int ex_fputc(int c, FILE *f);
int ex_fputc(int c, FILE *f)
{
    (void)f;
    return (unsigned char)c;
}

/* ---- time stands still, yielding does nothing ---- */

int ex_silent(void);
int ex_silent(void)
{
    return 0;
}

void *ex_null(void);
void *ex_null(void)
{
    return NULL;
}

time_t ex_time(time_t *t);
time_t ex_time(time_t *t)
{
    IN_CALL();
    if (t != NULL) {
        writes(t, sizeof(*t));
        *t = 1;
    }
    return 1;
}

int ex_clock_gettime(clockid_t id, struct timespec *t);
int ex_clock_gettime(clockid_t id, struct timespec *t)
{
    (void)id;
    IN_CALL();
    writes(t, sizeof(*t));
    *t = (struct timespec){1, 0};
    return 0;
}

int ex_timespec_get(struct timespec *t, int base);
int ex_timespec_get(struct timespec *t, int base)
{
    IN_CALL();
    if (base != TIME_UTC)
        return 0;
    writes(t, sizeof(*t));
    *t = (struct timespec){1, 0};
    return base;
}
