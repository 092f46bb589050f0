/* SPDX-License-Identifier: MIT */
/* Two updates, one of which reads what came later, beside revisits of who waits: its write comes again once. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *updates(void *arg)
{
    atomic_exchange(&x, 3);
    return arg;
}

static void *waits(void *arg)
{
    atomic_fetch_add(&x, 3);
    while (atomic_load(&x) == 1 || atomic_load(&y) == 0)
        ;
    return arg;
}

static void *writes(void *arg)
{
    atomic_store(&y, 1);
    atomic_store(&y, 1);
    atomic_store(&x, 2);
    return arg;
}

int main(void)
{
    pthread_t t[3];
    pthread_create(&t[0], NULL, updates, NULL);
    pthread_create(&t[1], NULL, waits, NULL);
    pthread_create(&t[2], NULL, writes, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
