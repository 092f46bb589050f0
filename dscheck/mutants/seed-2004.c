/* SPDX-License-Identifier: MIT */
/* seed 2004: 108 executions */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic(long long) x0 = 0;
static int x1 = 0;
static _Atomic(long) x2 = 0;

static long out0[1];
static void *thread0(void *arg)
{
    long r0 = 0;
    x2 = (long)(0);
    r0 = atomic_load_explicit(&x0, memory_order_relaxed);
    out0[0] = r0;
    return arg;
}

static long out1[2];
static void *thread1(void *arg)
{
    long r0 = 0;
    long r3 = 0;
    x2 = (long)(2);
    r0 = __atomic_load_n(&x1, __ATOMIC_ACQUIRE);
    {
        long long e = atomic_load_explicit(&x0, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&x0, &e, (long long)(e + 1), memory_order_release, memory_order_relaxed))
            ;
        r3 = e;
    }
    __atomic_store_n(&x1, (int)(2), __ATOMIC_RELEASE);
    out1[0] = r0;
    out1[1] = r3;
    return arg;
}

static long out2[1];
static void *thread2(void *arg)
{
    long r3 = 0;
    r3 = x2;
    x2 = (long)(1);
    atomic_store_explicit(&x0, (long long)(1), memory_order_relaxed);
    out2[0] = r3;
    return arg;
}

int main(void)
{
    static const unsigned long long known[] = {1000008000015U, 1000008000016U, 1000008000017U, 957379668416705361U, 957379668416705362U, 2000019000062000069U, 2000019000062000070U, 6480590936845801026U, 6480590936845801027U, 6480590936845801028U, 8480608936899801080U, 8480608936899801081U, 10923515805234455912U, 10923515805234455913U, 10923515805234455914U, 12923533805288455966U, 12923533805288455967U, 14003820205328896745U, 14003820205328896746U, 14003820205328896747U, 16003838205382896799U, 16003838205382896800U, 17404105742072256923U, 17404105742072256924U, 17404105742072256925U};
    unsigned long long digest = 0;
    int found = 0;
    pthread_t t0;
    pthread_t t1;
    pthread_t t2;
    pthread_create(&t0, NULL, thread0, NULL);
    pthread_create(&t1, NULL, thread1, NULL);
    pthread_create(&t2, NULL, thread2, NULL);
    pthread_join(t0, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    digest = digest * 1000003 + (unsigned long long)out0[0];
    digest = digest * 1000003 + (unsigned long long)out1[0];
    digest = digest * 1000003 + (unsigned long long)out1[1];
    digest = digest * 1000003 + (unsigned long long)out2[0];
    digest = digest * 1000003 + (unsigned long long)(long long)atomic_load_explicit(&x0, memory_order_relaxed);
    digest = digest * 1000003 + (unsigned long long)(long long)__atomic_load_n(&x1, __ATOMIC_RELAXED);
    digest = digest * 1000003 + (unsigned long long)(long long)x2;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        found |= known[i] == digest;
    assert(found); /* else an outcome that cannot be */
#ifdef NEVER
    assert(digest != NEVER); /* which is an outcome: to be found */
#endif
    return 0;
}
