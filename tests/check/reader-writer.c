/* check: ok
 * A cache behind a reader-writer lock: looked up under the read lock, filled under the write lock. */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    char name[8];
    int value;
    bool valid;
};

static pthread_rwlock_t lock;
static struct entry entry;
static int fills;

static int lookup(const char *name)
{
    pthread_rwlock_rdlock(&lock);
    if (entry.valid && strncmp(entry.name, name, sizeof entry.name) == 0) {
        int value = entry.value;
        pthread_rwlock_unlock(&lock);
        return value;
    }
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_wrlock(&lock);
    if (!entry.valid) { /* somebody else may have been quicker */
        strncpy(entry.name, name, sizeof entry.name - 1);
        entry.value = 42;
        entry.valid = true;
        fills++;
    }
    int value = entry.value;
    pthread_rwlock_unlock(&lock);
    return value;
}

static void *thread(void *arg)
{
    assert(lookup("answer") == 42);
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_rwlock_init(&lock, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, thread, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    pthread_rwlock_destroy(&lock);
    assert(fills == 1);
}
