/* SPDX-License-Identifier: MIT */
/* seed 2014: 191 executions */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic(long) x0 = 0;
static _Atomic(signed char) x1 = 1;

static long out0[2];
static void *thread0(void *arg)
{
    long r2 = 0;
    long r3 = 0;
    r2 = x0;
    r3 = atomic_exchange_explicit(&x1, (signed char)(1), memory_order_release);
    atomic_store_explicit(&x1, (signed char)(r2 + 0), memory_order_relaxed);
    out0[0] = r2;
    out0[1] = r3;
    return arg;
}

static long out1[1];
static void *thread1(void *arg)
{
    long r1 = 0;
    atomic_store_explicit(&x1, (signed char)(1), memory_order_relaxed);
    r1 = x0;
    out1[0] = r1;
    return arg;
}

static long out2[2];
static void *thread2(void *arg)
{
    long r0 = 0;
    long r3 = 0;
    r0 = atomic_load_explicit(&x1, memory_order_relaxed);
    x0 &= (long)(1);
    out2[0] = r0;
    out2[1] = r3;
    return arg;
}

static long out3[2];
static void *thread3(void *arg)
{
    long r0 = 0;
    long r3 = 0;
    atomic_thread_fence(memory_order_acquire);
    r0 = x0;
    r3 = atomic_load_explicit(&x1, memory_order_acquire);
    out3[0] = r0;
    out3[1] = r3;
    return arg;
}

int main(void)
{
    static const unsigned long long known[] = {8931087414080979582U, 8931087414080979583U, 8931088414086979591U, 8931088414086979592U, 12924618581234127435U, 12924618581234127436U, 12924619581240127444U, 12924619581240127445U};
    unsigned long long digest = 0;
    int found = 0;
    pthread_t t0;
    pthread_t t1;
    pthread_t t2;
    pthread_t t3;
    pthread_create(&t0, NULL, thread0, NULL);
    pthread_create(&t1, NULL, thread1, NULL);
    pthread_create(&t2, NULL, thread2, NULL);
    pthread_create(&t3, NULL, thread3, NULL);
    pthread_join(t0, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    pthread_join(t3, NULL);
    digest = digest * 1000003 + (unsigned long long)out0[0];
    digest = digest * 1000003 + (unsigned long long)out0[1];
    digest = digest * 1000003 + (unsigned long long)out1[0];
    digest = digest * 1000003 + (unsigned long long)out2[0];
    digest = digest * 1000003 + (unsigned long long)out2[1];
    digest = digest * 1000003 + (unsigned long long)out3[0];
    digest = digest * 1000003 + (unsigned long long)out3[1];
    digest = digest * 1000003 + (unsigned long long)(long long)x0;
    digest = digest * 1000003 + (unsigned long long)(long long)atomic_load_explicit(&x1, memory_order_relaxed);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        found |= known[i] == digest;
    assert(found); /* else an outcome that cannot be */
#ifdef NEVER
    assert(digest != NEVER); /* which is an outcome: to be found */
#endif
    return 0;
}
