/* SPDX-License-Identifier: MIT */
/* A wait that a write brought about, and another ended, goes when what follows it lets an earlier read take its value. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *thread0(void *arg)
{
    atomic_load(&y);
    return arg;
}

static void *thread1(void *arg)
{
    while (atomic_load(&x) == 1)
        ;
    atomic_store(&y, 1);
    return arg;
}

static void *thread2(void *arg)
{
    atomic_store(&x, 1);
    atomic_store(&x, 2);
    atomic_store(&x, 3);
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
