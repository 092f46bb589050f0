/* SPDX-License-Identifier: MIT */
/* What the code under test says to the explorer by dscheck.h. */
#include "instrument.h"

#include <stdio.h>
#include <string.h>

struct in_name in_name[IN_NAMES];
unsigned in_names;

void ex_name(const volatile void *at, const char *name);
void ex_name(const volatile void *at, const char *name)
{
    IN_CALL();
    unsigned i = 0;
    while (i < in_names && in_name[i].at != at)
        i++;
    if (i == IN_NAMES)
        return;
    in_names += i == in_names;
    in_name[i].at = at;
    snprintf(in_name[i].text, sizeof(in_name[i].text), "%s", name);
    for (char *c = in_name[i].text; *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
}

void ex_assume(int condition);
void ex_assume(int condition)
{
    IN_CALL();
    if (!condition)
        in_op(0, 0, 0, 0, 0, OP_ASSUME * 8);
}

int ex_choose(int n);
int ex_choose(int n)
{
    IN_CALL();
    if (n < 1 || n > 255)
        in_bug("misuse", "dscheck_choose(%d): from 1 to 255", n);
    return (int)IN_OP(OP_CHOOSE, 0, 0, n, 0);
}

void ex_invariant(bool (*holds)(void));
void ex_invariant(bool (*holds)(void))
{
    IN_CALL();
    in_invariant(holds);
}

void ex_invariant_end(void);
void ex_invariant_end(void)
{
    IN_CALL();
    in_invariant_end();
}
