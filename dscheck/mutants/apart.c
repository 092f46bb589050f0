/* SPDX-License-Identifier: MIT */
/* Who waits has no events there: what comes before its read is what it did before. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *waits(void *arg)
{
    while (atomic_load(&x) == atomic_load(&y))
        ;
    return arg;
}

static void *writes(void *arg)
{
    atomic_store(&x, 0);
    atomic_store(&x, 1);
    return arg;
}

static void *ends(void *arg)
{
    atomic_store(&x, 2);
    return arg;
}

int main(void)
{
    pthread_t t[3];
    pthread_create(&t[0], NULL, waits, NULL);
    pthread_create(&t[1], NULL, writes, NULL);
    pthread_create(&t[2], NULL, ends, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
