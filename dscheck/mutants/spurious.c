/* SPDX-License-Identifier: MIT */
/*
 * With --spurious-cas: both exchanges fail for no reason, or one of them succeeds and the other one comes before or after
 * it: 5 executions in which y is read as 0.  Where it is read as 1, the exchange of `writes` comes first: 3 of them.
 */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void try(void)
{
    int none = 0;
    atomic_compare_exchange_weak(&x, &none, 1);
}

static void *reads(void *arg)
{
    atomic_load(&y);
    try();
    return arg;
}

static void *writes(void *arg)
{
    try();
    atomic_store(&y, 1);
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, reads, NULL);
    pthread_create(&t[1], NULL, writes, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
