/* SPDX-License-Identifier: MIT */
/* Reads of one place in two, in each of three turns: which of the two has seen what, with retries as awaits. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int flag;

static void *waits(void *arg)
{
    for (int i = 0; i < 3; i++)
        if (atomic_load(&flag) == 3 || atomic_load(&flag) == 2)
            break;
    return arg;
}

static void *sets(void *arg)
{
    atomic_store(&flag, 3);
    atomic_store(&flag, 2);
    atomic_store(&flag, 1);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, sets, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
