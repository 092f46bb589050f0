/* check: ok
 * A server waits for either of two boxes, and takes from the one that it finds full, until it has had all four letters:
 * each box is filled twice. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int box[2];
static int had[2];

static void *client(void *arg)
{
    atomic_int *mine = arg;
    for (int letter = 1; letter <= 2; letter++) {
        while (atomic_load(mine) != 0)
            ;
        atomic_store(mine, letter);
    }
    return arg;
}

static int full(void)
{
    for (;;)
        for (int i = 0; i < 2; i++)
            if (atomic_load(&box[i]) != 0)
                return i;
}

static void *server(void *arg)
{
    for (int i = 0; i < 4; i++) {
        int from = full();
        assert(atomic_load(&box[from]) == ++had[from]);
        atomic_store(&box[from], 0);
    }
    return arg;
}

int main(void)
{
    pthread_t c[2], s;
    for (int i = 0; i < 2; i++)
        pthread_create(&c[i], NULL, client, &box[i]);
    pthread_create(&s, NULL, server, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(c[i], NULL);
    pthread_join(s, NULL);
    assert(had[0] == 2 && had[1] == 2);
    return 0;
}
