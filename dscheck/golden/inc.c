/* SPDX-License-Identifier: MIT */
#include "h.h"
/* N threads, each K times: load; store(+1) */
#ifndef K
#define K 2
#endif
atomic_int x;
THR(th)
{
    for (int i = 0; i < K; i++) {
        int v = LD(x, SC);
        ST(x, v + 1, SC);
    }
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
    return 0;
}
