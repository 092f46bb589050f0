/* SPDX-License-Identifier: MIT */
/* A thread that is created only when others have met: 2 x 2 executions. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y, z;

static void *reads(void *arg)
{
    atomic_load(&y);
    atomic_store(&x, 1);
    return arg;
}

static void *writes(void *arg)
{
    atomic_store(&y, 1);
    return arg;
}

static void *late(void *arg)
{
    atomic_store(&z, 1);
    return arg;
}

int main(void)
{
    pthread_t t[3];
    pthread_create(&t[0], NULL, reads, NULL);
    pthread_create(&t[1], NULL, writes, NULL);
    while (atomic_load(&x) == 0)
        ;
    pthread_create(&t[2], NULL, late, NULL);
    atomic_store(&z, 2);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
