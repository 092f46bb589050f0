/* SPDX-License-Identifier: MIT */
#include "h.h"
atomic_int x, y;
int a, b;
THR(t0)
{
    ST(x, 1, RLX);
    a = LD(y, RLX);
    RET;
}
THR(t1)
{
    ST(y, 1, RLX);
    b = LD(x, RLX);
    RET;
}
MAIN
{
    thr_t t[2];
    atomic_init(&x, 0);
    atomic_init(&y, 0);
    SPAWN(t[0], t0, 0);
    SPAWN(t[1], t1, 0);
    JOIN(t[0]);
    JOIN(t[1]);
    return 0;
}
