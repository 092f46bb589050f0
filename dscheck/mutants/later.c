/* SPDX-License-Identifier: MIT */
/* Who waits for another value of y, which is written before, and after, what one thread more asks for. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *waits(void *arg)
{
    atomic_load(&x);
    while (atomic_load(&y) == 1)
        ;
    return arg;
}

static void *ends(void *arg)
{
    atomic_store(&y, 2);
    return arg;
}

static void *adds(void *arg)
{
    atomic_fetch_add(&y, 1);
    atomic_store(&x, 0);
    return arg;
}

int main(void)
{
    pthread_t t[3];
    pthread_create(&t[0], NULL, waits, NULL);
    pthread_create(&t[1], NULL, ends, NULL);
    pthread_create(&t[2], NULL, adds, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
