/* SPDX-License-Identifier: MIT */
/* A wait that a write brought about goes when something before it is revisited. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *thread0(void *arg)
{
    atomic_store(&x, 0);
    atomic_load(&x);
    while (atomic_load(&x) == 1)
        ;
    return arg;
}

static void *thread1(void *arg)
{
    atomic_store(&x, 0);
    return arg;
}

static void *thread2(void *arg)
{
    atomic_store(&x, 2);
    atomic_store(&x, 1);
    atomic_store(&x, 0);
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
