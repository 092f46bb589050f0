/* SPDX-License-Identifier: MIT
 *
 * What both suites of cancellation points share: which functions a public header has, and what docs/groups.md says of them.
 */
#ifndef TESTS_POINTS_H
#define TESTS_POINTS_H

#include "harness.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* docs/groups.md, and the headers. */
static const char *const *files;
static int n_files;

static inline void points_files(int n, char **names)
{
    files = (const char *const *)names;
    n_files = n;
}

static inline void each_function(const char *file, void (*fn)(const char *name))
{
    char line[512];
    FILE *in = fopen(file, "r");
    if (!CHECK(in != NULL))
        return;
    while (fgets(line, sizeof line, in) != NULL) {
        char *at = strncmp(line, "TN_API ", 7) == 0 ? line : NULL, *open = at != NULL ? strchr(at, '(') : NULL;
        if (open == NULL || strstr(line, "TN_API extern") != NULL)
            continue;
        char *name = open;
        while (name > line && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
            name--;
        *open = '\0';
        fn(name);
    }
    fclose(in);
}

/* Is `name` in the table of docs/groups.md, on a line that begins so? */
static inline bool said(const char *name, const char *begin)
{
    char line[2048], word[80];
    bool found = false;
    FILE *in = fopen(files[0], "r");
    snprintf(word, sizeof word, "`%s`", name);
    while (in != NULL && fgets(line, sizeof line, in) != NULL)
        found = found || (strncmp(line, begin, strlen(begin)) == 0 && strstr(line, word) != NULL);
    if (in != NULL)
        fclose(in);
    return found;
}

#endif
