/* SPDX-License-Identifier: MIT */
/* seed 2033: 53 executions */
#include <assert.h>
#include <threads.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic(int) x0 = 1;
static _Atomic(signed char) x1 = 0;

typedef atomic_int ttas_t;
static void ttas_lock(ttas_t *lock)
{
    do {
        while (atomic_load(lock) != 0)
            ;
    } while (atomic_exchange(lock, 1) != 0);
}
#define ttas_unlock(lock) atomic_store(lock, 0)
static ttas_t lock0;
static ttas_t lock1;

static long out0[2];
static int thread0(void *arg)
{
    long r0 = 0;
    long r3 = 0;
    r0 = atomic_load(&x0);
    r3 = atomic_load_explicit(&x1, memory_order_relaxed);
    out0[0] = r0;
    out0[1] = r3;
    return arg != NULL;
}

static long out1[3];
static int thread1(void *arg)
{
    long r0 = 0;
    long r2 = 0;
    long r3 = 0;
    ttas_lock(&lock0);
    {
        signed char e = (signed char)(1);
        (void)atomic_compare_exchange_strong_explicit(&x1, &e, (signed char)(3), memory_order_release, memory_order_relaxed);
        r3 = e;
    }
    ttas_unlock(&lock0);
    r0 = atomic_fetch_or_explicit(&x1, (signed char)(2), memory_order_release);
    r2 = atomic_load_explicit(&x1, memory_order_relaxed);
    out1[0] = r0;
    out1[1] = r2;
    out1[2] = r3;
    return arg != NULL;
}

static long out2[3];
static int thread2(void *arg)
{
    long r0 = 0;
    long r1 = 0;
    long r2 = 0;
    r0 = atomic_exchange_explicit(&x1, (signed char)(0), memory_order_relaxed);
    ttas_lock(&lock1);
    {
        signed char e = (signed char)(3);
        (void)atomic_compare_exchange_strong_explicit(&x1, &e, (signed char)(3), memory_order_release, memory_order_relaxed);
        r1 = e;
    }
    r2 = atomic_load_explicit(&x1, memory_order_acquire);
    {
        signed char e = (signed char)(r1 + 0);
        (void)atomic_compare_exchange_strong_explicit(&x1, &e, (signed char)(1), memory_order_relaxed, memory_order_relaxed);
        r2 = e;
    }
    ttas_unlock(&lock1);
    out2[0] = r0;
    out2[1] = r1;
    out2[2] = r2;
    return arg != NULL;
}

int main(void)
{
    static const unsigned long long known[] = {1031926308248380106U, 1069569376619526141U, 1779105768982158187U, 5672643655250048354U, 7035268123568262444U, 7132721150176335107U, 8592798645102621860U, 9035286123622262497U, 9955423113420835950U, 10495363618548549250U, 11955441113474836003U, 12436655436307294143U, 13195872923733144073U, 13896732931233580896U, 14655950418659430826U, 15845617357912849544U, 16116027913585717579U, 16558515392105358216U, 16596158460476504251U, 16816887921086154402U, 17305694852839136297U, 18018592887031644969U, 18056235955402791004U};
    unsigned long long digest = 0;
    int found = 0;
    thrd_t t0;
    thrd_t t1;
    thrd_t t2;
    thrd_create(&t0, thread0, NULL);
    thrd_create(&t1, thread1, NULL);
    thrd_create(&t2, thread2, NULL);
    thrd_join(t0, NULL);
    thrd_join(t1, NULL);
    thrd_join(t2, NULL);
    digest = digest * 1000003 + (unsigned long long)out0[0];
    digest = digest * 1000003 + (unsigned long long)out0[1];
    digest = digest * 1000003 + (unsigned long long)out1[0];
    digest = digest * 1000003 + (unsigned long long)out1[1];
    digest = digest * 1000003 + (unsigned long long)out1[2];
    digest = digest * 1000003 + (unsigned long long)out2[0];
    digest = digest * 1000003 + (unsigned long long)out2[1];
    digest = digest * 1000003 + (unsigned long long)out2[2];
    digest = digest * 1000003 + (unsigned long long)(long long)atomic_load_explicit(&x0, memory_order_relaxed);
    digest = digest * 1000003 + (unsigned long long)(long long)atomic_load_explicit(&x1, memory_order_relaxed);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        found |= known[i] == digest;
    assert(found); /* else an outcome that cannot be */
#ifdef NEVER
    assert(digest != NEVER); /* which is an outcome: to be found */
#endif
    return 0;
}
