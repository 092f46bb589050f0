/* check: ok
 * A ticket lock with the __atomic built-ins, in a struct that is aligned to a cache line. */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

struct ticket {
    uint16_t next, serving;
} __attribute__((aligned(64)));

static struct ticket lock;
static volatile int inside;
static int counter;

static inline void acquire(struct ticket *l)
{
    uint16_t mine = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&l->serving, __ATOMIC_ACQUIRE) != mine)
        __builtin_ia32_pause();
}

static inline void release(struct ticket *l)
{
    __atomic_store_n(&l->serving, (uint16_t)(l->serving + 1), __ATOMIC_RELEASE);
}

static void *thread(void *arg)
{
    for (int i = 0; i < 2; i++) {
        acquire(&lock);
        assert(inside++ == 0);
        counter++;
        inside--;
        release(&lock);
    }
    return arg;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(t + i, 0, thread, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(counter == 4);
    return 0;
}
