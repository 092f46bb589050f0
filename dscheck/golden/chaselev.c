/* SPDX-License-Identifier: MIT */
#include "h.h"
/* fixed array Chase-Lev: owner push NPUSH then pop NPOP; NT thieves steal 1 */
#ifndef NT
#define NT 1
#endif
#ifndef NPUSH
#define NPUSH 2
#endif
#ifndef NPOP
#define NPOP 2
#endif
#ifdef WEAKBUG
#define FO      RLX /* faulty: no SC ordering in pop/steal */
#define FENCE() ((void)0)
#else
#define FENCE() atomic_thread_fence(SC)
#endif
atomic_int top, bot;
atomic_int buf[4];
int got[NT + NPOP + 1];
static void push(int v)
{
    int b = LD(bot, RLX);
    int t = LD(top, ACQ);
    (void)t;
    ST(buf[b & 3], v, RLX);
#ifdef SCONLY
    ST(bot, b + 1, SC);
#else
    atomic_thread_fence(REL);
    ST(bot, b + 1, RLX);
#endif
}
static int pop(void)
{
    int b = LD(bot, RLX) - 1;
    ST(bot, b, RLX);
#ifndef SCONLY
    FENCE();
#endif
    int t = LD(top, RLX);
    int r = 0;
    if (t <= b) {
        r = LD(buf[b & 3], RLX);
        if (t == b) {
            int tt = t;
            if (!CAS(top, tt, t + 1, SC))
                r = 0;
            ST(bot, b + 1, RLX);
        }
    } else
        ST(bot, b + 1, RLX);
    return r;
}
static int steal(void)
{
    int t = LD(top, ACQ);
#ifndef SCONLY
    FENCE();
#endif
    int b = LD(bot, ACQ);
    int r = 0;
    if (t < b) {
        r = LD(buf[t & 3], RLX);
        int tt = t;
        if (!CAS(top, tt, t + 1, SC))
            r = 0;
    }
    return r;
}
THR(o)
{
    for (int i = 0; i < NPUSH; i++)
        push(i + 1);
    for (int i = 0; i < NPOP; i++)
        got[i] = pop();
    RET;
}
THR(s)
{
    got[NPOP + (int)(long)arg_] = steal();
    RET;
}
MAIN
{
    thr_t t[NT + 1];
    atomic_init(&top, 0);
    atomic_init(&bot, 0);
    for (int i = 0; i < 4; i++)
        atomic_init(&buf[i], 0);
    SPAWN(t[0], o, 0);
    for (long i = 0; i < NT; i++)
        SPAWN(t[i + 1], s, i);
    for (int i = 0; i <= NT; i++)
        JOIN(t[i]);
    for (int i = 0; i < NPOP + NT; i++)
        for (int j = 0; j < i; j++)
            ASSERT(got[i] == 0 || got[i] != got[j]);
    return 0;
}
