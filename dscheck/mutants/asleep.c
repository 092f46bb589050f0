/* SPDX-License-Identifier: MIT */
/* An update is given to the first read of a loop that waits: the graph as it is sleeps, and is not gone on with. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *waits(void *arg)
{
    atomic_store(&y, 1);
    while (atomic_load(&x) == 1 || atomic_load(&y) == 1)
        ;
    return arg;
}

static void *updates(void *arg)
{
    atomic_fetch_add(&x, 1);
    for (;;) {
        int one = 1;
        if (atomic_compare_exchange_strong(&y, &one, 2))
            break;
    }
    return arg;
}

static void *writes(void *arg)
{
    atomic_store(&x, 3);
    return arg;
}

int main(void)
{
    pthread_t t[3];
    pthread_create(&t[0], NULL, waits, NULL);
    pthread_create(&t[1], NULL, updates, NULL);
    pthread_create(&t[2], NULL, writes, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
