/* check: ok
 * Two rounds between barriers; one thread of each round is the serial one. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define THREADS 2

static pthread_barrier_t barrier;
static int value[THREADS], seen[THREADS];
static atomic_int serial;

static void *thread(void *arg)
{
    long me = (long)arg;
    value[me] = (int)me + 1;
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        serial++;
    for (int i = 0; i < THREADS; i++)
        seen[me] += value[i];
    pthread_barrier_wait(&barrier);
    value[me] = 0;
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, thread, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    pthread_barrier_destroy(&barrier);
    assert(serial == 1 && seen[0] == 3 && seen[1] == 3);
    return 0;
}
