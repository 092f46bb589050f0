/* SPDX-License-Identifier: MIT */
/* A loop that ends with its second turn, which only plain memory knows; that was written before the loop, too. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_int flag, other;
static int turns;

static __attribute__((noinline)) void begins(void)
{
    turns = 0;
}

static __attribute__((noinline)) bool second(void)
{
    return ++turns == 2;
}

static void *waits(void *arg)
{
    (void)atomic_load(&other);
    begins();
    while (!atomic_load(&flag))
        if (second())
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
