/* SPDX-License-Identifier: MIT */
#include "h.h"
atomic_int tail;
atomic_int nx[N + 1], lk[N + 1];
int cs;
THR(th)
{
    int me = (int)(long)arg_ + 1;
    ST(nx[me], 0, RLX);
    ST(lk[me], 1, RLX);
    int p = XC(tail, me, AR);
    if (p) {
        ST(nx[p], me, REL);
        while (LD(lk[me], ACQ))
            YIELD();
    }
    cs = me;
    ASSERT(cs == me);
    if (LD(nx[me], ACQ) == 0) {
        int e = me;
        if (CAS(tail, e, 0, AR))
            RET;
        while (LD(nx[me], ACQ) == 0)
            YIELD();
    }
    ST(lk[LD(nx[me], RLX)], 0, REL);
    RET;
}
MAIN
{
    thr_t t[N];
    atomic_init(&tail, 0);
    for (int i = 0; i <= N; i++) {
        atomic_init(&nx[i], 0);
        atomic_init(&lk[i], 0);
    }
    for (long i = 0; i < N; i++)
        SPAWN(t[i], th, i);
    for (int i = 0; i < N; i++)
        JOIN(t[i]);
    return 0;
}
