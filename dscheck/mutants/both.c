/* SPDX-License-Identifier: MIT */
/* Two threads wait, each for two locations: a graph sleeps for the turn of one of them. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y, z;

static void *differ(void *arg)
{
    while (atomic_load(&z) == atomic_load(&x))
        ;
    return arg;
}

static void *either(void *arg)
{
    while (atomic_load(&x) == 0 && atomic_load(&y) == 2)
        ;
    return arg;
}

static void *writes(void *arg)
{
    atomic_store(&y, 2);
    atomic_store(&x, 2);
    return arg;
}

static void *undoes(void *arg)
{
    atomic_store(&y, 0);
    return arg;
}

int main(void)
{
    pthread_t t[4];
    pthread_create(&t[0], NULL, differ, NULL);
    pthread_create(&t[1], NULL, either, NULL);
    pthread_create(&t[2], NULL, writes, NULL);
    pthread_create(&t[3], NULL, undoes, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}
