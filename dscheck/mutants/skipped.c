/* SPDX-License-Identifier: MIT */
/* A retry in vain with the latest value, which an older one would end; one thread more asks for it all anew. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int taken = 1, over = 1, before;

static void *goes_on(void *arg)
{
    atomic_store(&over, 0);
    return arg;
}

static void *tries(void *arg)
{
    int none = 0;
    atomic_load(&before);
    while (!atomic_compare_exchange_strong(&taken, &none, 1)) {
        none = 0;
        if (atomic_load(&over))
            break;
    }
    return arg;
}

static void *ends(void *arg)
{
    atomic_store(&over, 2);
    atomic_store(&before, 1);
    return arg;
}

int main(void)
{
    pthread_t t[3];
    pthread_create(&t[0], NULL, goes_on, NULL);
    pthread_create(&t[1], NULL, tries, NULL);
    pthread_create(&t[2], NULL, ends, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
