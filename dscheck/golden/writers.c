/* SPDX-License-Identifier: MIT */
#include "h.h"
atomic_int x;
THR(w)
{
    ST(x, 1 + (int)(long)arg_, RLX);
    RET;
}
MAIN
{
    thr_t t[N];
    atomic_init(&x, 0);
    for (long i = 0; i < N; i++)
        SPAWN(t[i], w, i);
    for (int i = 0; i < N; i++)
        JOIN(t[i]);
    return 0;
}
