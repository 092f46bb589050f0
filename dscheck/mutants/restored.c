/* SPDX-License-Identifier: MIT */
/* Plain memory that is written before a loop, and what each turn writes and restores: it waits all the same. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int flag, other;
static volatile int begun, busy;

static void *waits(void *arg)
{
    (void)atomic_load(&other);
    begun = 1;
    while (!atomic_load(&flag)) {
        busy = 1;
        (void)atomic_load(&other);
        busy = 0;
    }
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
