/* SPDX-License-Identifier: MIT */
/* What was read, or with UPDATES updated, before the turn that is put to sleep may be read anew. */
#include <pthread.h>
#include <stdatomic.h>

#ifdef UPDATES
#define FIRST atomic_fetch_add(&z, 1)
#define LAST  atomic_fetch_add(&z, 1)
#else
#define FIRST atomic_load(&z)
#define LAST  atomic_store(&z, 1)
#endif

static atomic_int x, y, z;

static void *first(void *arg)
{
    FIRST;
    return arg;
}

static void *waits(void *arg)
{
    while (atomic_load(&x) == 0 && atomic_load(&y) == 0)
        ;
    return arg;
}

static void *ends(void *arg)
{
    atomic_store(&x, 1);
    return arg;
}

static void *last(void *arg)
{
    LAST;
    return arg;
}

int main(void)
{
    static void *(*const thread[])(void *) = {first, waits, ends, last};
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, thread[i], NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}
