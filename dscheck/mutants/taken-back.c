/* SPDX-License-Identifier: MIT */
/* A turn that is tried writes plain memory; what it has written is taken back before the next value is. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int flag, other;
static int sum;

static __attribute__((noinline)) void add(int by)
{
    sum += by;
}

static void *waits(void *arg)
{
    while (atomic_load(&flag) != 1) {
        add(1);
        (void)atomic_load(&other);
        add(-1);
    }
    assert(sum == 0);
    return arg;
}

static void *sets(void *arg)
{
    atomic_store(&flag, 2);
    atomic_store(&flag, 3);
    atomic_store(&other, 1);
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
