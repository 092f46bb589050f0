/* SPDX-License-Identifier: MIT */
/* Tries in turn, the first of them elsewhere: a turn is in vain when the one before it has failed at the same place. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_int ready[2];
static int place;

static __attribute__((noinline)) bool takes(void)
{
    int was = 1;
    return atomic_compare_exchange_strong(&ready[place], &was, 2);
}

static __attribute__((noinline)) void goes_on(void)
{
    place = 1;
}

static void *waits(void *arg)
{
    while (!takes())
        goes_on();
    return arg;
}

static void *sets(void *arg)
{
    atomic_store(&ready[1], 3);
    atomic_store(&ready[1], 1);
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
