/* SPDX-License-Identifier: MIT */
#include "h.h"
atomic_int x, y;
THR(w0)
{
    ST(x, 1, REL);
    RET;
}
THR(w1)
{
    ST(y, 1, REL);
    RET;
}
THR(r0)
{
    LD(x, ACQ);
    LD(y, ACQ);
    RET;
}
THR(r1)
{
    LD(y, ACQ);
    LD(x, ACQ);
    RET;
}
MAIN
{
    thr_t t[4];
    atomic_init(&x, 0);
    atomic_init(&y, 0);
    SPAWN(t[0], w0, 0);
    SPAWN(t[1], w1, 0);
    SPAWN(t[2], r0, 0);
    SPAWN(t[3], r1, 0);
    for (int i = 0; i < 4; i++)
        JOIN(t[i]);
    return 0;
}
