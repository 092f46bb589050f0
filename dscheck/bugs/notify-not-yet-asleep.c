/* SPDX-License-Identifier: MIT */
/*
 * A notifier that wakes only who is asleep.  The worker announces that it is about to sleep, looks for work once more,
 * and then falls asleep; a notifier that comes after that look and before the sleep finds it *not yet asleep*, takes it
 * for awake, and drops the wake-up.
 *
 * Repaired: whoever has announced itself is told; falling asleep fails if it has been.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { AWAKE, DROWSY, ASLEEP };
static _Atomic(int) state, items;

static void *notifier(void *arg)
{
    atomic_fetch_add(&items, 1);
#ifdef REPAIRED
    atomic_exchange(&state, AWAKE);
#else
    if (atomic_load(&state) == ASLEEP)
        atomic_store(&state, AWAKE);
#endif
    return arg;
}

static void *worker(void *arg)
{
    while (atomic_load(&items) == 0) {
        atomic_store(&state, DROWSY);
        if (atomic_load(&items) != 0)
            break;
#ifdef REPAIRED
        int drowsy = DROWSY;
        if (!atomic_compare_exchange_strong(&state, &drowsy, ASLEEP))
            continue; /* told meanwhile */
#else
        atomic_store(&state, ASLEEP);
#endif
        while (atomic_load(&state) == ASLEEP)
            ; /* stands for a futex */
    }
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], NULL, notifier, NULL);
    pthread_create(&t[1], NULL, worker, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    assert(atomic_load(&items) == 1);
    return 0;
}
