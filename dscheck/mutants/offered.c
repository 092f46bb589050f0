/* SPDX-License-Identifier: MIT */
/* What makes a thread wait is written twice by who then writes elsewhere, where a read came before the wait. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *reads(void *arg)
{
    (void)atomic_load(&y);
    return arg;
}

static void *waits(void *arg)
{
    while (atomic_load(&x) == 1)
        ;
    return arg;
}

static void *writes(void *arg)
{
    atomic_store(&x, 1);
    atomic_store(&x, 1);
    atomic_store(&y, 1);
    return arg;
}

int main(void)
{
    pthread_t t[3];
    pthread_create(&t[0], NULL, reads, NULL);
    pthread_create(&t[1], NULL, waits, NULL);
    pthread_create(&t[2], NULL, writes, NULL);
    pthread_join(t[2], NULL);
    atomic_store(&x, 2);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
