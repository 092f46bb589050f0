/* check: bug deadlock
 * Three philosophers, each of whom takes the left fork first. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define N 3

static pthread_mutex_t fork_[N];
static int meals[N];

static void *philosopher(void *arg)
{
    int i = (int)(long)arg;
    pthread_mutex_lock(&fork_[i]);
    usleep(100);
    pthread_mutex_lock(&fork_[(i + 1) % N]);
    meals[i]++;
    printf("%d eats\n", i);
    pthread_mutex_unlock(&fork_[(i + 1) % N]);
    pthread_mutex_unlock(&fork_[i]);
    return NULL;
}

int main(void)
{
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_mutex_init(&fork_[i], NULL);
    for (long i = 0; i < N; i++)
        pthread_create(&t[i], NULL, philosopher, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
