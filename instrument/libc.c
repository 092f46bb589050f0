/* SPDX-License-Identifier: MIT */
/* The parts of the C library that touch memory of the code under test, or that would be seen from outside. */
#define _GNU_SOURCE
#include "instrument.h"

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
    in_op(0, 0, 0, 0, 0, OP_END * 8);
    __builtin_unreachable();
}

/* ---- what programs for other checkers call ---- */

_Noreturn void ex_error(void);
_Noreturn void ex_error(void)
{
    IN_CALL();
    in_bug("assertion", "the program called its error function");
}

/* ---- output is dropped, time stands still, yielding does nothing ---- */

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

int ex_clock_gettime(clockid_t id, struct timespec *t);
int ex_clock_gettime(clockid_t id, struct timespec *t)
{
    (void)id;
    IN_CALL();
    writes(t, sizeof(*t));
    *t = (struct timespec){1, 0};
    return 0;
}
