/* SPDX-License-Identifier: MIT */
#include "h.h"
/* Vyukov MPSC, index nodes: NP producers push 1; consumer NP try-pops */
#ifndef NP
#define NP 2
#endif
atomic_int head;
atomic_int nx[NP + 2];
int val[NP + 2];
THR(p)
{
    int n = (int)(long)arg_ + 2;
    val[n] = n;
    ST(nx[n], 0, RLX);
    int pr = XC(head, n, AR);
    ST(nx[pr], n, REL);
    RET;
}
THR(c)
{
    int tail = 1;
    for (int i = 0; i < NP; i++) {
        int n = LD(nx[tail], ACQ);
        if (n) {
            ASSERT(val[n] == n);
            tail = n;
        }
    }
    RET;
}
MAIN
{
    thr_t t[NP + 1];
    atomic_init(&head, 1);
    for (int i = 0; i < NP + 2; i++)
        atomic_init(&nx[i], 0);
    for (long i = 0; i < NP; i++)
        SPAWN(t[i], p, i);
    SPAWN(t[NP], c, 0);
    for (int i = 0; i <= NP; i++)
        JOIN(t[i]);
    return 0;
}
