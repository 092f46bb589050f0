/* SPDX-License-Identifier: MIT */
/* Whose assumption fails goes no further, but another thread may write what would have let it: 2 executions. */
#include <pthread.h>
#include <stdatomic.h>

void __VERIFIER_assume(int condition);

static atomic_int x, y;

static void *reads(void *arg)
{
    if (atomic_load(&x) == 1)
        __VERIFIER_assume(atomic_load(&y) == 1);
    return arg;
}

static void *writes(void *arg)
{
    atomic_store(&x, 1);
    atomic_store(&y, 1);
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
