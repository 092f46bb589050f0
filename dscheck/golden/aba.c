/* SPDX-License-Identifier: MIT */
#include "h.h"
/* untagged Treiber used as a free list: node 1->2; T0 pop stalls; T1 pop,pop,push(1) */
atomic_int top;
atomic_int nx[3];
atomic_int own[3];
static int pop(void)
{
    for (;;) {
        int o = LD(top, SC);
        if (!o)
            return 0;
        int n = LD(nx[o], SC);
        if (CAS(top, o, n, SC))
            return o;
    }
}
static void push(int n)
{
    for (;;) {
        int o = LD(top, SC);
        ST(nx[n], o, SC);
        if (CAS(top, o, n, SC))
            return;
    }
}
static void take(int n)
{
    if (n)
        ASSERT(FA(own[n], 1, SC) == 0);
}
static void give(int n)
{
    if (n)
        FA(own[n], -1, SC);
}
THR(a)
{
    int x = pop();
    take(x);
    RET;
}
THR(b)
{
    int x = pop();
    take(x);
    int y = pop();
    take(y);
    if (x) {
        give(x);
        push(x);
    }
    RET;
}
MAIN
{
    thr_t t[2];
    atomic_init(&top, 1);
    atomic_init(&nx[1], 2);
    atomic_init(&nx[2], 0);
    for (int i = 0; i < 3; i++)
        atomic_init(&own[i], 0);
    SPAWN(t[0], a, 0);
    SPAWN(t[1], b, 0);
    JOIN(t[0]);
    JOIN(t[1]);
    int z = pop();
    take(z);
    z = pop();
    take(z);
    return 0;
}
