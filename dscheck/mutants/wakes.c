/* SPDX-License-Identifier: MIT */
/* A value that lets its turn be in vain is tried once somebody writes where that turn looks. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_int x, y;

static void *sets(void *arg)
{
    (void)atomic_load(&y);
    atomic_store(&x, 1);
    return arg;
}

static __attribute__((noinline)) bool turn(void)
{
    int a = atomic_load(&x), b = atomic_load(&y);
    return (a == 1 && b == 1) || (a == 0 && b == 2);
}

static void *waits(void *arg)
{
    while (!turn())
        ;
    return arg;
}

static void *late(void *arg)
{
    atomic_store(&y, 2);
    atomic_store(&y, 1);
    return arg;
}

int main(void)
{
    static void *(*const thread[])(void *) = {sets, waits, late};
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, thread[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
