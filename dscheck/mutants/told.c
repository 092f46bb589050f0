/* SPDX-License-Identifier: MIT */
/* A turn in vain that reads plain data, which are ordered by what it has read first (BY 0), or by what it has read
 * next (BY 1), or by what the thread had read before its loop (BY 2). */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int turn, next, before;
static int data;

static __attribute__((noinline)) int other(void) /* its registers are not the loop's */
{
    return data == 7;
}

static void *fills(void *arg)
{
    data = 5;
    if (BY == 2)
        atomic_store(&before, 1);
    return arg;
}

static void *writes(void *arg)
{
    if (BY != 2)
        fills(arg);
    if (BY == 1)
        atomic_store(&next, 1);
    for (int i = 1; i <= 3; i++)
        atomic_store(&turn, i);
    return arg;
}

static void *waits(void *arg)
{
    int now;
    if (BY == 2 && atomic_load(&before) == 0)
        return arg;
    while ((now = atomic_load(&turn)) != 3)
        if ((BY == 1 ? atomic_load(&next) : now) == 1 && other())
            break;
    return arg;
}

int main(void)
{
    pthread_t t[3];
    if (BY == 2)
        pthread_create(&t[2], NULL, fills, NULL);
    pthread_create(&t[0], NULL, writes, NULL);
    pthread_create(&t[1], NULL, waits, NULL);
    for (int i = 0; i < 2 + (BY == 2); i++)
        pthread_join(t[i], NULL);
    return 0;
}
