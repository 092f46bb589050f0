/* check: ok
 * A list of allocated nodes under a mutex, with reference counts; the last one who lets go frees. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct node {
    struct node *next;
    atomic_int refs;
    int key;
} node_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static node_t *head;

static void insert(int key)
{
    node_t *n = malloc(sizeof(node_t));
    n->key = key;
    atomic_init(&n->refs, 1);
    pthread_mutex_lock(&lock);
    n->next = head;
    head = n;
    pthread_mutex_unlock(&lock);
}

static node_t *find(int key)
{
    pthread_mutex_lock(&lock);
    node_t *n = head;
    while (n && n->key != key)
        n = n->next;
    if (n)
        atomic_fetch_add(&n->refs, 1);
    pthread_mutex_unlock(&lock);
    return n;
}

static void put(node_t *n)
{
    if (atomic_fetch_sub(&n->refs, 1) == 1)
        free(n);
}

static void drop(int key)
{
    pthread_mutex_lock(&lock);
    node_t **at = &head;
    while (*at && (*at)->key != key)
        at = &(*at)->next;
    node_t *n = *at;
    if (n)
        *at = n->next;
    pthread_mutex_unlock(&lock);
    if (n)
        put(n);
}

static void *looker(void *arg)
{
    node_t *n = find(7);
    if (n) {
        assert(n->key == 7);
        put(n);
    }
    return arg;
}

static void *dropper(void *arg)
{
    drop(7);
    return arg;
}

int main(void)
{
    pthread_t t[2];
    insert(3);
    insert(7);
    pthread_create(&t[0], NULL, looker, NULL);
    pthread_create(&t[1], NULL, dropper, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    drop(3);
    assert(head == NULL);
    return 0;
}
