/* SPDX-License-Identifier: MIT */
/* What leads to the write that ends a wait may end it as well. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *thread0(void *arg)
{
    while (atomic_load(&x) == 2)
        ;
    return arg;
}

static void *thread1(void *arg)
{
    atomic_store(&x, 1);
    return arg;
}

static void *thread2(void *arg)
{
    atomic_store(&x, 2);
    atomic_store(&x, 0);
    atomic_store(&x, 3);
    atomic_exchange(&x, 1);
    return arg;
}

int main(void)
{
    static void *(*const thread[])(void *) = {thread0, thread1, thread2};
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, thread[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
