/* check: bug deadlock
 * The bounded buffer with one condition for both, and signal where it needs broadcast. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int buffer[1], count, sum;

static void put(int v)
{
    pthread_mutex_lock(&lock);
    while (count == 1)
        pthread_cond_wait(&changed, &lock);
    buffer[count++] = v;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static int get(void)
{
    pthread_mutex_lock(&lock);
    while (count == 0)
        pthread_cond_wait(&changed, &lock);
    int v = buffer[--count];
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return v;
}

static void *producer(void *arg)
{
    put(*(int *)arg);
    return NULL;
}

static void *consumer(void *arg)
{
    (void)arg;
    for (int i = 0; i < 1; i++)
        (void)get();
    return NULL;
}

int main(void)
{
    pthread_t t[4];
    int value[2] = {1, 2};
    pthread_create(&t[0], NULL, producer, &value[0]);
    pthread_create(&t[1], NULL, producer, &value[1]);
    pthread_create(&t[2], NULL, consumer, NULL);
    pthread_create(&t[3], NULL, consumer, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    printf("sum %d\n", sum);
    return 0;
}
