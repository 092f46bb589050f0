/* SPDX-License-Identifier: MIT */
#include "h.h"
atomic_int f[2], turn;
int cs;
THR(th)
{
    int i = (int)(long)arg_;
    ST(f[i], 1, SC);
    ST(turn, 1 - i, SC);
    while (LD(f[1 - i], SC) && LD(turn, SC) == 1 - i)
        YIELD();
    cs = i;
    ASSERT(cs == i);
    ST(f[i], 0, SC);
    RET;
}
MAIN
{
    thr_t t[2];
    atomic_init(&f[0], 0);
    atomic_init(&f[1], 0);
    atomic_init(&turn, 0);
    SPAWN(t[0], th, 0);
    SPAWN(t[1], th, 1);
    JOIN(t[0]);
    JOIN(t[1]);
    return 0;
}
