/* check: ok
 * Initialised once, by whoever comes first; a static local and a key besides. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static char *table;

static void init(void)
{
    pthread_key_create(&key, free);
    table = strdup("abc");
}

static int *mine(void)
{
    int *p = pthread_getspecific(key);
    if (!p) {
        p = malloc(sizeof *p);
        *p = 0;
        pthread_setspecific(key, p);
    }
    return p;
}

static void *thread(void *arg)
{
    pthread_once(&once, init);
    assert(strcmp(table, "abc") == 0);
    ++*mine();
    ++*mine();
    assert(*mine() == 2);
    return arg;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&t[i], NULL, thread, NULL) != 0)
            exit(EXIT_FAILURE);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    free(table);
    return EXIT_SUCCESS;
}
