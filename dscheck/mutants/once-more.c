/* SPDX-License-Identifier: MIT */
/* One function fails in one place, and again in a loop in another: only the loop is one. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_int flag;

static __attribute__((noinline)) bool takes(void)
{
    int was = 1;
    return atomic_compare_exchange_strong(&flag, &was, 2);
}

static void *waits(void *arg)
{
    if (!takes())
        while (!takes())
            ;
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
