/* SPDX-License-Identifier: MIT */
/* A loop that waits by an update; whoever waits there when a revisit comes has offers that go with what came later. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y, z;

static void *waits(void *arg)
{
    int was;
    atomic_store(&y, 2);
    atomic_load(&x);
    do
        was = atomic_fetch_add(&y, 0);
    while (atomic_load(&z) == was);
    return arg;
}

static void *writes(void *arg)
{
    atomic_load(&y);
    atomic_store(&y, 0);
    atomic_exchange(&x, 0);
    atomic_store(&y, 2);
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, waits, NULL);
    pthread_create(&t[1], NULL, writes, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
