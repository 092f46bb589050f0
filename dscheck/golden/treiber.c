/* SPDX-License-Identifier: MIT */
#include "h.h"
/* index-based Treiber stack without reuse; N threads: push then pop */
#ifndef M
#define M (N + 1)
#endif
atomic_int top;
atomic_int nxt[M + 1];
int got[N];
static void push(int n)
{
    int o = LD(top, ACQ);
    for (;;) {
        ST(nxt[n], o, RLX);
        if (CAS(top, o, n, AR))
            return;
    }
}
static int pop(void)
{
    int o = LD(top, ACQ);
    for (;;) {
        if (o == 0)
            return 0;
        int nx = LD(nxt[o], RLX);
        if (CAS(top, o, nx, AR))
            return o;
    }
}
THR(th)
{
    int i = (int)(long)arg_;
    push(i + 1);
    got[i] = pop();
    RET;
}
MAIN
{
    thr_t t[N];
    atomic_init(&top, 0);
    for (int i = 0; i <= M; i++)
        atomic_init(&nxt[i], 0);
    for (long i = 0; i < N; i++)
        SPAWN(t[i], th, i);
    for (int i = 0; i < N; i++)
        JOIN(t[i]);
    for (int i = 0; i < N; i++) {
        ASSERT(got[i] != 0);
        for (int j = 0; j < i; j++)
            ASSERT(got[i] != got[j]);
    }
    return 0;
}
