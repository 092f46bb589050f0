/* SPDX-License-Identifier: MIT */
#include "h.h"
#ifndef K
#define K 2
#endif
atomic_int x;
THR(th)
{
    for (int i = 0; i < K; i++)
        FA(x, 1, SC);
    RET;
}
MAIN
{
    thr_t t[N];
    atomic_init(&x, 0);
    for (long i = 0; i < N; i++)
        SPAWN(t[i], th, 0);
    for (int i = 0; i < N; i++)
        JOIN(t[i]);
    ASSERT(LD(x, SC) == N * K);
    return 0;
}
