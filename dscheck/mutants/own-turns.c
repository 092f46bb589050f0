/* SPDX-License-Identifier: MIT */
/* The same in memory of a thread's own, which lies below the stacks. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_int flag;
static _Thread_local int turns;

static __attribute__((noinline)) bool second(int *own)
{
    return ++*own == 2;
}

static void *waits(void *arg)
{
    while (!atomic_load(&flag))
        if (second(&turns))
            break;
    return arg;
}

static void *sets(void *arg)
{
    atomic_store(&flag, 1);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, sets, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
