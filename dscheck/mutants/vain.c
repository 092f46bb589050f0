/* SPDX-License-Identifier: MIT */
/* A loop whose turns begin with an update that changes nothing; whether both must have come, or one. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *writes(void *arg)
{
    atomic_store(&x, 1);
    return arg;
}

static void *adds(void *arg)
{
    atomic_fetch_add(&y, BOTH);
    return arg;
}

static void *waits(void *arg)
{
    while (BOTH ? atomic_fetch_or(&x, 0) == 0 || atomic_load(&y) == 0
                : atomic_fetch_or(&x, 0) == 0 && atomic_load(&y) == 0)
        ;
    return arg;
}

int main(void)
{
    pthread_t t[3];
    pthread_create(&t[0], NULL, writes, NULL);
    pthread_create(&t[1], NULL, adds, NULL);
    pthread_create(&t[2], NULL, waits, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    pthread_join(t[2], NULL);
    return 0;
}
