/* SPDX-License-Identifier: MIT */
/* An exchange that takes another value writes: that wakes who sleeps there, too. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y, z;

static void *first(void *arg)
{
    while (atomic_load(&z) == atomic_load(&x))
        ;
    atomic_store(&z, 1);
    int seen = atomic_load(&y);
    atomic_compare_exchange_strong(&y, &seen, 2);
    return arg;
}

static void *second(void *arg)
{
    int seen;
    atomic_store(&y, 2);
    while ((seen = atomic_load(&y)) == 0 || atomic_load(&y) != seen)
        ;
    atomic_store(&x, 0);
    atomic_store(&x, 1);
    return arg;
}

static void *third(void *arg)
{
    atomic_store(&x, 2);
    int seen = atomic_load(&y);
    atomic_store(&z, 0);
    atomic_compare_exchange_strong(&x, &seen, 1);
    return arg;
}

int main(void)
{
    static void *(*const thread[])(void *) = {first, second, third};
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, thread[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
