/* check: bug data race
 * A static local variable that looks thread-safe, and is not. */
#include <assert.h>
#include <pthread.h>

static int next_id(void)
{
    static int id;
    return ++id;
}

static void *thread(void *arg)
{
    *(int *)arg = next_id();
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    int id[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, thread, &id[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(id[0] != id[1]);
}
