/* check: ok
 * A sequence lock whose reader tries again; the data are atomics, relaxed. */
#include <assert.h>
#include <stdatomic.h>
#include <threads.h>

static atomic_uint seq;
static atomic_int a, b;

static int writer(void *arg)
{
    for (int i = 1; i <= 2; i++) {
        unsigned s = atomic_load_explicit(&seq, memory_order_relaxed);
        atomic_store_explicit(&seq, s + 1, memory_order_relaxed);
        atomic_thread_fence(memory_order_release);
        atomic_store_explicit(&a, i, memory_order_relaxed);
        atomic_store_explicit(&b, -i, memory_order_relaxed);
        atomic_store_explicit(&seq, s + 2, memory_order_release);
    }
    (void)arg;
    return 0;
}

static int reader(void *arg)
{
    unsigned before, after;
    int x, y;
    do {
        while ((before = atomic_load_explicit(&seq, memory_order_acquire)) & 1)
            thrd_yield();
        x = atomic_load_explicit(&a, memory_order_relaxed);
        y = atomic_load_explicit(&b, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&seq, memory_order_relaxed);
    } while (before != after);
    assert(x == -y);
    (void)arg;
    return x;
}

int main(void)
{
    thrd_t w, r;
    int last;
    if (thrd_create(&w, writer, NULL) != thrd_success || thrd_create(&r, reader, NULL) != thrd_success)
        return 1;
    thrd_join(w, NULL);
    thrd_join(r, &last);
    assert(last >= 0 && last <= 2);
    return 0;
}
