/* SPDX-License-Identifier: MIT */
/* Who waits with a value that it has read before is woken by the write that changes it, too. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *reads(void *arg)
{
    int seen;
    while ((seen = atomic_load(&x)) == 0 || atomic_load(&x) != seen)
        ;
    return arg;
}

static void *writes(void *arg)
{
    atomic_store(&x, 1);
    atomic_store(&x, 0);
    atomic_store(&x, 2);
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, reads, NULL);
    pthread_create(&t[1], NULL, writes, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
