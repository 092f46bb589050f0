/* SPDX-License-Identifier: MIT
 *
 * The Linux platform: environment, messages, plug-ins. Simulated programs have it, too.
 */
#define _GNU_SOURCE
#include "../platform.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

const char *tn_getenv(const char *name)
{
    return secure_getenv(name);
}

const char *tn_environment(size_t i)
{
    bool empty = environ == NULL || getauxval(AT_SECURE) != 0; /* as secure_getenv */
    return empty ? NULL : environ[i];
}

void tn_message(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char line[512];
    int n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    if (n < 0)
        return;
    size_t length = (size_t)n < sizeof line - 2 ? (size_t)n : sizeof line - 2;
    line[length] = '\n';
    (void)!write(STDERR_FILENO, line, length + 1); /* one write: lines of several threads do not mix */
}

void tn_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char line[512];
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    tn_message("%s", line);
    abort();
}

const void *tn_plugin(const char *path, const char *symbol)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* stays open: its code may run until the process ends */
    const void *table = handle != NULL ? dlsym(handle, symbol) : NULL;
    if (handle == NULL)
        tn_message("tenter: %s", dlerror());
    else if (table == NULL)
        tn_message(
            "tenter: %s: no scheduler module: it has no %s, which TN_SCHEDULER makes where it is compiled with "
            "-DTN_PLUGIN (docs/modules.md)",
            path, symbol);
    return table;
}
