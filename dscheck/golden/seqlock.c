/* SPDX-License-Identifier: MIT */
#include "h.h"
/* 1 writer 1 write; N readers, one attempt each */
atomic_int s, a, b;
THR(w)
{
    ST(s, 1, RLX);
    atomic_thread_fence(REL);
    ST(a, 1, RLX);
    ST(b, 1, RLX);
    ST(s, 2, REL);
    RET;
}
THR(r)
{
    int s1 = LD(s, ACQ);
    if (s1 & 1)
        RET;
    int x = LD(a, RLX), y = LD(b, RLX);
    atomic_thread_fence(ACQ);
    if (LD(s, RLX) == s1)
        ASSERT(x == y);
    RET;
}
MAIN
{
    thr_t t[N + 1];
    atomic_init(&s, 0);
    atomic_init(&a, 0);
    atomic_init(&b, 0);
    SPAWN(t[0], w, 0);
    for (long i = 1; i <= N; i++)
        SPAWN(t[i], r, i);
    for (int i = 0; i <= N; i++)
        JOIN(t[i]);
    return 0;
}
