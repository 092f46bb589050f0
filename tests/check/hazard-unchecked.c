/* check: bug heap
 * A hazard pointer that is announced, but not checked again. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct config {
    int version, twice;
};

static _Atomic(struct config *) current;
static _Atomic(struct config *) hazard;

static struct config *make(int version)
{
    struct config *c = malloc(sizeof(*c));
    if (!c)
        abort();
    c->version = version;
    c->twice = 2 * version;
    return c;
}

static void *reader(void *arg)
{
    struct config *c = atomic_load(&current);

    atomic_store(&hazard, c);
    assert(c->twice == 2 * c->version);
    atomic_store(&hazard, NULL);
    return arg;
}

static void *updater(void *arg)
{
    struct config *old = atomic_exchange(&current, make(2));
    while (atomic_load(&hazard) == old)
        ;
    free(old);
    return arg;
}

int main(void)
{
    pthread_t r, u;
    atomic_store(&current, make(1));
    pthread_create(&r, NULL, reader, NULL);
    pthread_create(&u, NULL, updater, NULL);
    pthread_join(r, NULL);
    pthread_join(u, NULL);
    free(atomic_load(&current));
    return 0;
}
