/* SPDX-License-Identifier: MIT */
#include "h.h"
/* ring of 2 slots; producer N try-push, consumer N try-pop */
atomic_int h, tl;
int buf[2];
THR(p)
{
    for (int i = 0; i < N; i++) {
        int t = LD(tl, RLX);
        if (t - LD(h, ACQ) < 2) {
            buf[t & 1] = i + 1;
            ST(tl, t + 1, REL);
        }
    }
    RET;
}
THR(c)
{
    int last = 0;
    for (int i = 0; i < N; i++) {
        int k = LD(h, RLX);
        if (LD(tl, ACQ) != k) {
            int v = buf[k & 1];
            ASSERT(v > last);
            last = v;
            ST(h, k + 1, REL);
        }
    }
    RET;
}
MAIN
{
    thr_t t[2];
    atomic_init(&h, 0);
    atomic_init(&tl, 0);
    SPAWN(t[0], p, 0);
    SPAWN(t[1], c, 0);
    JOIN(t[0]);
    JOIN(t[1]);
    return 0;
}
