/* check: ok
 * A ring of two cells between one producer and one consumer, each of which spins with a pause. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#define SIZE 2

struct ring {
    _Atomic unsigned head, tail;
    int cell[SIZE];
};

static struct ring ring;

static bool push(struct ring *r, int v)
{
    unsigned t = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (t - atomic_load_explicit(&r->head, memory_order_acquire) == SIZE)
        return false;
    r->cell[t % SIZE] = v;
    atomic_store_explicit(&r->tail, t + 1, memory_order_release);
    return true;
}

static bool pop(struct ring *r, int *v)
{
    unsigned h = atomic_load_explicit(&r->head, memory_order_relaxed);
    if (h == atomic_load_explicit(&r->tail, memory_order_acquire))
        return false;
    *v = r->cell[h % SIZE];
    atomic_store_explicit(&r->head, h + 1, memory_order_release);
    return true;
}

static void *producer(void *arg)
{
    for (int i = 1; i <= 3; i++)
        while (!push(&ring, i))
            sched_yield();
    return arg;
}

static void *consumer(void *arg)
{
    for (int i = 1; i <= 3; i++) {
        int v;
        while (!pop(&ring, &v))
            sched_yield();
        if (v != i) {
            printf("expected %d, got %d\n", i, v);
            assert(0);
        }
    }
    return arg;
}

int main(void)
{
    pthread_t p, c;
    pthread_create(&p, NULL, producer, NULL);
    pthread_create(&c, NULL, consumer, NULL);
    pthread_join(p, NULL);
    pthread_join(c, NULL);
    return 0;
}
