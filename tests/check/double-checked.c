/* check: bug data race
 * Double-checked locking with a plain pointer. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *instance;

static int *get(void)
{
    if (instance == NULL) {
        pthread_mutex_lock(&lock);
        if (instance == NULL) {
            int *made = malloc(sizeof(int));
            *made = 42;
            instance = made;
        }
        pthread_mutex_unlock(&lock);
    }
    return instance;
}

static void *thread(void *arg)
{
    assert(*get() == 42);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, thread, NULL);
    pthread_create(&b, NULL, thread, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    free(instance);
    return 0;
}
