/* check: ok
 * Who waits for two announcements, both of which are taken back for a while, is woken by one in vain, sleeps again, and
 * may go on by what it had read before that. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready[2];
static int work[2];

static void *hesitant(void *arg)
{
    long me = (long)arg;
    work[me] = 1;
    atomic_store(&ready[me], 1);
    atomic_store(&ready[me], 0);
    atomic_store(&ready[me], 1);
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, hesitant, (void *)i);
    while (atomic_load(&ready[0]) == 0 || atomic_load(&ready[1]) == 0)
        ;
    assert(work[0] == 1 && work[1] == 1);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
