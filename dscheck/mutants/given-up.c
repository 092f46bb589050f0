/* SPDX-License-Identifier: MIT */
/* An exchange fails and is given up, and a store follows: the loop after it does not retry anything. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int flag;

static void *waits(void *arg)
{
    int was = 1;
    atomic_compare_exchange_strong(&flag, &was, 1);
    atomic_store(&flag, 1);
    while (atomic_load(&flag) != 1)
        ;
    return arg;
}

static void *sets(void *arg)
{
    atomic_exchange(&flag, 2);
    atomic_store(&flag, 3);
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
