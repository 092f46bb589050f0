/* SPDX-License-Identifier: MIT */
/* Who sleeps writes where it looks once it is on its way again: that wakes it not. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void wait_for_other(void)
{
    int seen;
    do
        seen = atomic_fetch_add(&y, 0);
    while (atomic_load(&x) == seen);
}

static void *first(void *arg)
{
    wait_for_other();
    atomic_store(&x, 2);
    return arg;
}

static void *second(void *arg)
{
    atomic_load(&x);
    atomic_exchange(&x, 2);
    return arg;
}

static void *third(void *arg)
{
    atomic_store(&y, 0);
    wait_for_other();
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
