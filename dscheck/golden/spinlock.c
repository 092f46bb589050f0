/* SPDX-License-Identifier: MIT */
#include "h.h"
atomic_int l;
int cs;
THR(th)
{
    while (XC(l, 1, ACQ))
        YIELD();
    cs = (int)(long)arg_;
    ASSERT(cs == (int)(long)arg_);
    ST(l, 0, REL);
    RET;
}
MAIN
{
    thr_t t[N];
    atomic_init(&l, 0);
    for (long i = 0; i < N; i++)
        SPAWN(t[i], th, i);
    for (int i = 0; i < N; i++)
        JOIN(t[i]);
    return 0;
}
