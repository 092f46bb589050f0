/* SPDX-License-Identifier: MIT */
/* An update that was revisited has a part of its own, behind what came meanwhile: turns of loops that were made to wait by it. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *first(void *arg)
{
    int seen = 0;
    atomic_compare_exchange_strong(&y, &seen, 2);
    do
        seen = atomic_fetch_add(&x, 0);
    while (atomic_load(&y) == seen);
    atomic_fetch_add(&x, 2);
    return arg;
}

static void *second(void *arg)
{
    atomic_store(&y, 0);
    atomic_exchange(&x, 0);
    atomic_store(&y, 2);
    return arg;
}

static void *third(void *arg)
{
    atomic_store(&x, 1);
    atomic_store(&x, 0);
    while (atomic_fetch_or(&x, 0) == 1 || atomic_load(&y) == 1)
        ;
    return arg;
}

int main(void)
{
    static void *(*const thread[])(void *) = {first, second, third};
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, thread[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
