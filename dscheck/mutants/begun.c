/* SPDX-License-Identifier: MIT */
/* A turn is begun anew by an exchange that takes an older value. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *waits(void *arg)
{
    while (atomic_load(&x) == atomic_load(&y))
        ;
    atomic_store(&y, 0);
    return arg;
}

static void *writes(void *arg)
{
    atomic_store(&y, 2);
    return arg;
}

static void *exchanges(void *arg)
{
    for (int none = 0; !atomic_compare_exchange_strong(&y, &none, 0); none = 0)
        ;
    atomic_store(&x, 1);
    return arg;
}

int main(void)
{
    static void *(*const thread[])(void *) = {waits, writes, exchanges};
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, thread[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
