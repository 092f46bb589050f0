/* SPDX-License-Identifier: MIT
 *
 * tenter-config: prints what this build is, as JSON (tn_describe).
 */
#include <stdio.h>
#include <stdlib.h>

#include "tenter.h"

int main(void)
{
    size_t size = tn_describe(NULL, 0) + 1;
    char *text = malloc(size);
    if (text == NULL)
        return 99;
    tn_describe(text, size);
    int rc = puts(text) < 0 || fflush(stdout) != 0 ? 99 : 0;
    if (rc != 0)
        fputs("tenter-config: what this build is cannot be written to standard output\n", stderr);
    free(text);
    return rc;
}
