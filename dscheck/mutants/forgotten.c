/* SPDX-License-Identifier: MIT */
/* Turns that only read are no retries; what they have read is forgotten, whatever fails behind them. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x = 1, y = 1;

static void *waits(void *arg)
{
    (void)atomic_load(&x);
    while (atomic_load(&x) == 1 || atomic_load(&y) == 1)
        ;
    int was = 1;
    atomic_compare_exchange_strong(&x, &was, 2);
    return arg;
}

static void *sets(void *arg)
{
    atomic_exchange(&x, 2);
    atomic_store(&y, 2);
    atomic_fetch_add(&x, 2);
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
