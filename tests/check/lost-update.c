/* check: bug exit
 * Reads, adds and stores again, each of them atomic; tells what it found before it fails. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_int counter;

static void *thread(void *arg)
{
    int old = atomic_load(&counter);
    atomic_store(&counter, old + 1);
    return arg;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, thread, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    if (counter != 2) {
        fprintf(stderr, "lost update: %d\n", counter);
        return 1;
    }
    return 0;
}
