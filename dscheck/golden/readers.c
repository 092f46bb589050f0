/* SPDX-License-Identifier: MIT */
#include "h.h"
/* 1 writer, N readers */
atomic_int x;
THR(w)
{
    ST(x, 1, RLX);
    RET;
}
THR(r)
{
    LD(x, RLX);
    RET;
}
MAIN
{
    thr_t t[N + 1];
    atomic_init(&x, 0);
    SPAWN(t[0], w, 0);
    for (long i = 1; i <= N; i++)
        SPAWN(t[i], r, i);
    for (int i = 0; i <= N; i++)
        JOIN(t[i]);
    return 0;
}
