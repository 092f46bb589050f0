/* SPDX-License-Identifier: MIT */
#include "h.h"
/* Nemesis queue: NP producers push 1, consumer NP try-pops */
#ifndef NP
#define NP 2
#endif
atomic_int head, tail;
atomic_int nx[NP + 1];
int val[NP + 1];
THR(p)
{
    int n = (int)(long)arg_ + 1;
    val[n] = n;
    ST(nx[n], 0, RLX);
    int pr = XC(tail, n, AR);
    if (pr == 0)
        ST(head, n, REL);
    else
        ST(nx[pr], n, REL);
    RET;
}
static int pop(void)
{
    int h = LD(head, ACQ);
    if (!h)
        return 0;
    int n = LD(nx[h], ACQ);
    if (n) {
        ST(head, n, RLX);
    } else {
        ST(head, 0, RLX);
        int e = h;
        if (!CAS(tail, e, 0, AR)) {
            while ((n = LD(nx[h], ACQ)) == 0)
                YIELD();
            ST(head, n, RLX);
        }
    }
    return h;
}
THR(c)
{
    for (int i = 0; i < NP; i++) {
        int h = pop();
        if (h)
            ASSERT(val[h] == h);
    }
    RET;
}
MAIN
{
    thr_t t[NP + 1];
    atomic_init(&head, 0);
    atomic_init(&tail, 0);
    for (int i = 0; i <= NP; i++)
        atomic_init(&nx[i], 0);
    for (long i = 0; i < NP; i++)
        SPAWN(t[i], p, i);
    SPAWN(t[NP], c, 0);
    for (int i = 0; i <= NP; i++)
        JOIN(t[i]);
    return 0;
}
