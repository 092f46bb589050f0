/* SPDX-License-Identifier: MIT */
#include "stuck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char err[1 << 20];

static int real_stderr = -1;
static char told_text[1 << 20];

void divert(void)
{
    FILE *file = tmpfile();
    real_stderr = dup(STDERR_FILENO);
    if (file != NULL)
        dup2(fileno(file), STDERR_FILENO);
}

__attribute__((noinline)) bool told(const char *what)
{
    ssize_t n = pread(STDERR_FILENO, told_text, sizeof told_text - 1, 0);
    told_text[n > 0 ? n : 0] = '\0';
    return strstr(told_text, what) != NULL;
}

int undivert(int code)
{
    told("");
    (void)!write(real_stderr, told_text, strlen(told_text));
    return code;
}

tn_fibre *named(const char *name, void *(*fn)(void *), void *arg)
{
    tn_fibre *f = NULL;
    if (tn_spawn(&f, &(struct tn_attr){.name = name}, fn, arg) != 0)
        abort();
    return f;
}

static int object;
const void *const what_it_waits_for = &object;

__attribute__((noinline)) void *waits_in_vain(void *arg)
{
    tn_wait_prepare();
    tn_wait_note("mutex", what_it_waits_for);
    tn_wait(TN_FOREVER, NULL);
    return arg;
}

void *ends(void *arg)
{
    return arg;
}

tn_waiter waiter;
atomic_bool waits;

void *waits_for_thread(void *arg)
{
    waiter = tn_wait_prepare();
    atomic_store(&waits, true);
    tn_wait(TN_FOREVER, NULL);
    return arg;
}

struct tn_config quiet(int64_t workers)
{
    struct tn_config c = with(workers, NULL);
    c.deadlock = TN_DEADLOCK_ABORT;
    c.stall_ms = 0;
    return c;
}

int run(void *fn)
{
    struct tn_config c = quiet(2);
    void *(*first)(void *);
    memcpy(&first, fn, sizeof first);
    int rc = 0;
    tn_run(&c, first, &rc, NULL);
    return rc;
}

bool has(const char *text)
{
    return strstr(err, text) != NULL;
}

void show(bool good, int status)
{
    if (!good)
        harness_note("status %x: %.6000s", (unsigned)status, err);
}
