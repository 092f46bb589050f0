/* SPDX-License-Identifier: MIT */
/* Who waits has read an old value: what has come since then is an offer, made where it was read. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *writes(void *arg)
{
    atomic_store(&x, 1);
    return arg;
}

static void *waits(void *arg)
{
    while (atomic_load(&x) == 0)
        ;
    return arg;
}

static void *undoes(void *arg)
{
    atomic_store(&x, 0);
    atomic_store(&x, 1);
    return arg;
}

int main(void)
{
    pthread_t t[3];
    pthread_create(&t[0], NULL, writes, NULL);
    pthread_create(&t[1], NULL, waits, NULL);
    pthread_create(&t[2], NULL, undoes, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
