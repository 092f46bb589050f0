/* SPDX-License-Identifier: MIT */
/*
 * Two threads that want something done once: whoever fails to claim it goes home, since the other one must have
 * claimed it.  But a weak compare-and-exchange may fail though nobody came before, and then nobody does it.
 *
 * Repaired: a strong one.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic(int) claimed, done;

static void *thread(void *arg)
{
    int nobody = 0;
#ifdef REPAIRED
    if (atomic_compare_exchange_strong(&claimed, &nobody, 1))
#else
    if (atomic_compare_exchange_weak(&claimed, &nobody, 1))
#endif
        atomic_fetch_add(&done, 1);
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, thread, NULL);
    pthread_create(&t[1], NULL, thread, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(atomic_load(&done) == 1);
    return 0;
}
