/* SPDX-License-Identifier: MIT */
/* A turn of two exchanges, of which one can fail for no reason only: who repeats it does not wait. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *tries(void *arg)
{
    int none = 0, five = 5;
    while (!atomic_compare_exchange_weak(&x, &none, 1) && !atomic_compare_exchange_weak(&x, &five, 6)) {
        none = 0;
        five = 5;
    }
    return arg;
}

static void *writes(void *arg)
{
    atomic_store(&y, 1);
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, tries, NULL);
    pthread_create(&t[1], NULL, writes, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
