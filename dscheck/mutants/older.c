/* SPDX-License-Identifier: MIT */
/* Of what a turn reads second, too, an older value may end it. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *waits(void *arg)
{
    while (atomic_load(&x) == 1 && atomic_load(&y) != 1)
        ;
    return arg;
}

static void *ends(void *arg)
{
    atomic_store(&y, 1);
    atomic_store(&x, 1);
    atomic_store(&y, 2);
    atomic_store(&x, 2);
    return arg;
}

int main(void)
{
    static void *(*const thread[])(void *) = {ends, waits};
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, thread[i], NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
