/* SPDX-License-Identifier: MIT */
#include "h.h"
/* array[0..N]; thread i (1..N): a[i]=a[i-1]+1 ; thread 0 scans down for a zero */
atomic_int a[N + 1];
THR(r)
{
    for (int i = N; i > 0; i--)
        if (LD(a[i], SC) == 0)
            break;
    RET;
}
THR(w)
{
    int j = (int)(long)arg_;
    int v = LD(a[j - 1], SC);
    ST(a[j], v + 1, SC);
    RET;
}
MAIN
{
    thr_t t[N + 1];
    for (int i = 0; i <= N; i++)
        atomic_init(&a[i], 0);
    SPAWN(t[0], r, 0);
    for (long i = 1; i <= N; i++)
        SPAWN(t[i], w, i);
    for (int i = 0; i <= N; i++)
        JOIN(t[i]);
    return 0;
}
