/* SPDX-License-Identifier: MIT */
#include "h.h"
/* try-lock Dekker, no loops */
atomic_int f[2];
atomic_int cs;
THR(th)
{
    int i = (int)(long)arg_;
    ST(f[i], 1, SC);
    if (!LD(f[1 - i], SC)) {
        ST(cs, i, RLX);
        ASSERT(LD(cs, RLX) == i);
    }
    ST(f[i], 0, SC);
    RET;
}
MAIN
{
    thr_t t[2];
    atomic_init(&f[0], 0);
    atomic_init(&f[1], 0);
    atomic_init(&cs, 0);
    SPAWN(t[0], th, 0);
    SPAWN(t[1], th, 1);
    JOIN(t[0]);
    JOIN(t[1]);
    return 0;
}
