/* SPDX-License-Identifier: MIT */
#include "h.h"
atomic_int x, y;
THR(t0)
{
    ST(x, 1, RLX);
    ST(y, 1, REL);
    RET;
}
THR(t1)
{
    int a = LD(y, ACQ);
    int b = LD(x, RLX);
    ASSERT(!(a == 1 && b == 0));
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
