/* check: bug unbounded loop
 * A helper that polls a flag, and takes a lock in each turn: nothing says that it ever ends. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

static atomic_flag lock = ATOMIC_FLAG_INIT;
static _Atomic bool stop;
static int shared;

static void spin_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {
        struct timespec t = {0, 1000};
        nanosleep(&t, NULL);
    }
}

static void spin_unlock(void)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

static void *helper(void *arg)
{
    while (!stop) {
        spin_lock();
        if (shared == 1)
            shared = 2;
        spin_unlock();
    }
    return arg;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, helper, NULL);
    spin_lock();
    shared = 1;
    spin_unlock();
    stop = true;
    pthread_join(t, NULL);
    assert(shared == 1 || shared == 2);
    return 0;
}
