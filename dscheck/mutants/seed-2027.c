/* SPDX-License-Identifier: MIT */
/* seed 2027: 54 executions */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic(int) x0 = 0;

static long out0[3];
static void *thread0(void *arg)
{
    long r0 = 0;
    long r1 = 0;
    long r2 = 0;
    r0 = x0;
    if (r0 == 1) {
        {
            int e = x0;
            while (!atomic_compare_exchange_weak_explicit(&x0, &e, (int)(e + 2), memory_order_acquire, memory_order_relaxed))
                ;
            r2 = e;
        }
    }
    if (r2 == 2) {
        r1 = x0;
    }
    x0 = (int)(2);
    out0[0] = r0;
    out0[1] = r1;
    out0[2] = r2;
    return arg;
}

static long out1[1];
static void *thread1(void *arg)
{
    long r0 = 0;
    r0 = x0;
    x0 = (int)(0);
    out1[0] = r0;
    return arg;
}

static long out2[1];
static void *thread2(void *arg)
{
    long r3 = 0;
    x0 = (int)(3);
    {
        int e = (int)(2);
        (void)atomic_compare_exchange_strong(&x0, &e, (int)(1));
        r3 = e;
    }
    out2[0] = r3;
    return arg;
}

int main(void)
{
    static const unsigned long long known[] = {0U, 2U, 2000006U, 2000007U, 3000009U, 3000011U, 3000012U, 1000008000015U, 2000012000018U, 2000014000024U, 2000015000027U, 2000015000030U, 3000018000027U, 3000018000029U, 3000020000033U, 3000020000034U, 3000021000036U, 3000021000038U, 6466150572250108057U, 6466150572250108059U, 6466150572252108063U, 6466150572252108064U, 6466150572253108066U, 6466150572253108068U, 6466151572258108072U, 6466152572262108075U, 6466152572264108081U, 6466152572265108084U, 6466153572268108084U, 6466153572268108086U, 6466153572270108090U, 6466153572270108091U, 6466153572271108093U, 6466153572271108095U};
    unsigned long long digest = 0;
    int found = 0;
    pthread_t t1;
    pthread_t t2;
    pthread_create(&t1, NULL, thread1, NULL);
    pthread_create(&t2, NULL, thread2, NULL);
    thread0(NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    digest = digest * 1000003 + (unsigned long long)out0[0];
    digest = digest * 1000003 + (unsigned long long)out0[1];
    digest = digest * 1000003 + (unsigned long long)out0[2];
    digest = digest * 1000003 + (unsigned long long)out1[0];
    digest = digest * 1000003 + (unsigned long long)out2[0];
    digest = digest * 1000003 + (unsigned long long)(long long)x0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        found |= known[i] == digest;
    assert(found); /* else an outcome that cannot be */
#ifdef NEVER
    assert(digest != NEVER); /* which is an outcome: to be found */
#endif
    return 0;
}
