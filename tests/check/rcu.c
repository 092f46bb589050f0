/* check: ok
 * Read-copy-update with one counter of readers for each of two phases. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    int a, b;
};

static struct node *_Atomic shared;
static atomic_int phase, readers[2];

static void *reader(void *arg)
{
    int p = phase;
    readers[p]++;
    struct node *n = shared;
    assert(n->a == n->b);
    readers[p]--;
    return arg;
}

static void synchronize(void)
{
    for (int i = 0; i < 2; i++) {
        int old = phase;
        phase = 1 - old;
        while (readers[old] != 0)
            ;
    }
}

static void *updater(void *arg)
{
    struct node *n = calloc(1, sizeof *n), *old = shared;
    n->a = n->b = 1;
    shared = n;
    synchronize();
    free(old);
    return arg;
}

int main(void)
{
    pthread_t t[2];
    shared = calloc(1, sizeof(struct node));
    pthread_create(&t[0], 0, reader, 0);
    pthread_create(&t[1], 0, updater, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    free(shared);
}
