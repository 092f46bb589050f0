/* SPDX-License-Identifier: MIT */
#include "h.h"
atomic_int nx, ow;
int cs;
THR(th)
{
    int m = FA(nx, 1, RLX);
    while (LD(ow, ACQ) != m)
        YIELD();
    cs = m;
    ASSERT(cs == m);
    ST(ow, m + 1, REL);
    RET;
}
MAIN
{
    thr_t t[N];
    atomic_init(&nx, 0);
    atomic_init(&ow, 0);
    for (long i = 0; i < N; i++)
        SPAWN(t[i], th, i);
    for (int i = 0; i < N; i++)
        JOIN(t[i]);
    return 0;
}
