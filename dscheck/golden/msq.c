/* SPDX-License-Identifier: MIT */
#include "h.h"
/* Michael-Scott queue, index nodes, no reuse; NP producers enqueue 1, NC consumers dequeue 1 */
#ifndef NP
#define NP 1
#endif
#ifndef NC
#define NC 1
#endif
#define M (NP + 1)
atomic_int head, tail;
atomic_int nxt[M + 1];
int got[NC + 1];
static void enq(int n)
{
    for (;;) {
        int t = LD(tail, ACQ);
        int nx = LD(nxt[t], ACQ);
        if (t != LD(tail, ACQ))
            continue;
        if (nx == 0) {
            int z = 0;
            if (CAS(nxt[t], z, n, AR)) {
                int tt = t;
                CAS(tail, tt, n, AR);
                return;
            }
        } else {
            int tt = t;
            CAS(tail, tt, nx, AR);
        }
    }
}
static int deq(void)
{
    for (;;) {
        int h = LD(head, ACQ);
        int t = LD(tail, ACQ);
        int nx = LD(nxt[h], ACQ);
        if (h != LD(head, ACQ))
            continue;
        if (nx == 0)
            return 0;
        if (h == t) {
            int tt = t;
            CAS(tail, tt, nx, AR);
        } else {
            int hh = h;
            if (CAS(head, hh, nx, AR))
                return nx;
        }
    }
}
THR(p)
{
    enq((int)(long)arg_ + 2);
    RET;
}
THR(c)
{
    got[(int)(long)arg_] = deq();
    RET;
}
MAIN
{
    thr_t t[NP + NC];
    atomic_init(&head, 1);
    atomic_init(&tail, 1);
    for (int i = 0; i <= M; i++)
        atomic_init(&nxt[i], 0);
    for (long i = 0; i < NP; i++)
        SPAWN(t[i], p, i);
    for (long i = 0; i < NC; i++)
        SPAWN(t[NP + i], c, i);
    for (int i = 0; i < NP + NC; i++)
        JOIN(t[i]);
    for (int i = 0; i < NC; i++)
        for (int j = 0; j < i; j++)
            ASSERT(got[i] == 0 || got[i] != got[j]);
    return 0;
}
