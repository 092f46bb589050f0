/* SPDX-License-Identifier: MIT */
/* Who calls exit() has not ended: nobody joins it. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int flag;

static void *leaves(void *arg)
{
    atomic_store(&flag, 1);
    exit(0);
    return arg;
}

static void *reads(void *arg)
{
    (void)atomic_load(&flag);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, reads, NULL);
    pthread_create(&b, NULL, leaves, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(!"joined");
}
