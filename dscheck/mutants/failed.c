/* SPDX-License-Identifier: MIT */
/* A weak compare-and-exchange that fails for no reason, in a loop: that is no wait, for it need not fail again. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *adds(void *arg)
{
    int old = atomic_load(&x);
    while (!atomic_compare_exchange_weak(&x, &old, old + 1))
        ;
    return arg;
}

static void *ends(void *arg)
{
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, adds, NULL);
    pthread_create(&t[1], NULL, ends, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
