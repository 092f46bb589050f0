/* SPDX-License-Identifier: MIT */
/* Who has had to wait goes on with what its cause leads to; what else has come is read where it did not wait. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *waits(void *arg)
{
    while (atomic_load(&y) == 1)
        ;
    return arg;
}

static void *reads(void *arg)
{
    atomic_load(&x);
    return arg;
}

static void *ends(void *arg)
{
    int none = 0;
    atomic_store(&y, 2);
    atomic_compare_exchange_strong(&x, &none, 0);
    return arg;
}

static void *adds(void *arg)
{
    atomic_store(&y, 1);
    atomic_fetch_add(&y, 1);
    atomic_store(&x, 0);
    return arg;
}

int main(void)
{
    pthread_t t[4];
    pthread_create(&t[0], NULL, waits, NULL);
    pthread_create(&t[1], NULL, reads, NULL);
    pthread_create(&t[2], NULL, ends, NULL);
    pthread_create(&t[3], NULL, adds, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}
