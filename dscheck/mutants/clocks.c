/* SPDX-License-Identifier: MIT */
/* Where a store may come that is read anew depends on what came before it only by way of what is gone. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y, z;

static void *reads(void *arg)
{
    atomic_store(&z, 2);
    atomic_load(&x);
    return arg;
}

static void *waits(void *arg)
{
    while (atomic_load(&y) == 0 && atomic_load(&z) == 1 && atomic_load(&x) != 2)
        ;
    return arg;
}

static void *writes(void *arg)
{
    atomic_store(&y, 0);
    atomic_store(&z, 0);
    return arg;
}

static void *others(void *arg)
{
    atomic_store(&x, 0);
    atomic_store(&y, 0);
    return arg;
}

int main(void)
{
    pthread_t t[4];
    pthread_create(&t[0], NULL, reads, NULL);
    pthread_create(&t[1], NULL, waits, NULL);
    pthread_create(&t[2], NULL, writes, NULL);
    pthread_create(&t[3], NULL, others, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}
