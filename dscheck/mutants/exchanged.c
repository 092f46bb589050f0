/* SPDX-License-Identifier: MIT */
/* Who waits looks where another one exchanges what it was to have written itself. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y, z;

static void *waits(void *arg)
{
    while (atomic_load(&x) == 0 && (atomic_load(&y) != 0 || atomic_load(&z) != 2))
        ;
    atomic_exchange(&z, 1);
    return arg;
}

static void *ends(void *arg)
{
    atomic_store(&x, 1);
    int none = 0;
    atomic_compare_exchange_strong(&z, &none, 2);
    return arg;
}

int main(void)
{
    static void *(*const thread[])(void *) = {waits, ends};
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, thread[i], NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
