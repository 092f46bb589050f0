/* SPDX-License-Identifier: MIT */
/* Who waits looks again at a write that does not help, between a read elsewhere and the write that it is then given. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *waits(void *arg)
{
    while (atomic_load(&x) == 1)
        ;
    return arg;
}

static void *reads(void *arg)
{
    (void)atomic_load(&y);
    return arg;
}

static void *writes(void *arg)
{
    atomic_store(&x, 1);
    atomic_store(&x, 1);
    return arg;
}

static void *gives(void *arg)
{
    atomic_store(&y, 1);
    return arg;
}

int main(void)
{
    pthread_t t[4];
    pthread_create(&t[0], NULL, waits, NULL);
    pthread_create(&t[1], NULL, reads, NULL);
    pthread_create(&t[2], NULL, writes, NULL);
    pthread_create(&t[3], NULL, gives, NULL);
    pthread_join(t[1], NULL);
    pthread_join(t[2], NULL);
    pthread_join(t[3], NULL);
    atomic_store(&x, 2);
    pthread_join(t[0], NULL);
    return 0;
}
