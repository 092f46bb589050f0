/* SPDX-License-Identifier: MIT
 *
 * For tests/scripts/weakened.py, under ThreadSanitizer: items with plain fields go through each queue whose name begins with
 * the first argument, and whoever has one writes them. Nothing but the queue orders one thread's accesses before another's:
 * all else that they share is relaxed. So an order that is needed and is missing is a race.
 */
#define _POSIX_C_SOURCE 200809L
#define TN_QUEUES_STANDALONE

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "experiments/workloads/queue_faces.h"

enum { THREADS = 3, FIRST = 100, EACH = 1500, AGAIN = 3, MOST = 8, SECONDS = 120 };

struct role {
    const struct queue_face *a;
    void *q;
    bool pushes, pops, owns; /* owns: pops its own end */
    struct queue_item *fresh, *back[EACH * THREADS];
    size_t n_fresh, n_back;
};

static atomic_size_t left;  /* items that are still to come out for the last time; relaxed: see above */
static atomic_size_t taken; /* by thieves: the owner leaves them the first ones */

/* Whoever holds an item may do with it as it likes. */
static void use(struct role *r, struct queue_item *item)
{
    item->link.next = NULL;
    item->producer++;
    if (r->pushes && item->producer <= AGAIN)
        r->back[r->n_back++] = item;
    else
        atomic_fetch_sub_explicit(&left, 1, memory_order_relaxed);
}

static void *work(void *arg)
{
    struct role *r = arg;
    while (atomic_load_explicit(&left, memory_order_relaxed) != 0) {
        void *out[MOST];
        size_t n = 0;
        if (r->pushes && r->n_back > 0 && r->a->push(r->q, r->back[r->n_back - 1])) {
            r->n_back--;
            continue;
        }
        if (r->pushes && r->n_fresh > 0) {
            r->fresh->producer = 0;
            if (r->a->push(r->q, r->fresh)) {
                r->fresh++;
                r->n_fresh--;
                if (r->n_fresh % 4 != 0)
                    continue;
            }
        }
        if (r->pops && r->owns && (r->a->shared || atomic_load_explicit(&taken, memory_order_relaxed) >= FIRST))
            n = (out[0] = r->a->pop(r->q)) != NULL;
        else if (r->pops && !r->owns)
            n = r->a->take(r->q, MOST, out);
        if (!r->owns)
            atomic_fetch_add_explicit(&taken, n, memory_order_relaxed);
        for (size_t i = 0; i < n; i++)
            use(r, out[i]);
        if (n == 0)
            sched_yield();
    }
    return NULL;
}

static void pass(const struct queue_face *a, size_t capacity)
{
    static struct role roles[THREADS];
    pthread_t threads[THREADS];
    size_t bytes = (a->bytes(capacity) + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE, total = 0;
    struct queue_item *items = calloc(EACH * THREADS, sizeof *items);
    void *q = aligned_alloc(TN_CACHE_LINE, bytes);
    if (items == NULL || q == NULL)
        abort();
    a->init(q, capacity);
    for (size_t i = 0; i < THREADS; i++) {
        /* The owner and two thieves; one that takes, and more that push; or one that pushes, one that takes, one that does
         * both: who pushes sees through the one end of some queues what the other end must show to those who do not. */
        bool pushes = a->single || i == 0 || (a->shared && i == 1), pops = a->single ? i == 0 : !a->shared || i != 0;
        roles[i] =
            (struct role){a, q, pushes, pops, a->shared || i == 0, items + i * EACH, {0}, pushes ? EACH : 0, 0};
        total += roles[i].n_fresh;
    }
    atomic_store_explicit(&left, total, memory_order_relaxed);
    atomic_store_explicit(&taken, 0, memory_order_relaxed);
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, &roles[i]) != 0)
            abort();
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (!a->valid(q) || a->length(q) != 0)
        abort();
    free(items);
    free(q);
}

/* The lock that no queue here tries: whoever gets it counts. */
static struct tn_spinlock lock = TN_SPINLOCK_INIT;
static unsigned counted;

static void *count(void *arg)
{
    for (unsigned i = 0; i < EACH; i++) {
        while (!tn_spinlock_try_lock(&lock))
            sched_yield();
        counted++;
        tn_spinlock_unlock(&lock);
    }
    return arg;
}

static unsigned try_lock(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, count, NULL) != 0)
            abort();
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (counted != THREADS * EACH)
        abort();
    return 1;
}

int main(int argc, char **argv)
{
    unsigned n = 0;
    alarm(SECONDS);
    for (int given = 1; given < argc; given++) {
        n += strcmp(argv[given], "try-lock") == 0 ? try_lock() : 0;
        for (size_t i = 0; i < QUEUE_FACES; i++)
            if (strncmp(queue_faces[i].name, argv[given], strlen(argv[given])) == 0) {
                pass(&queue_faces[i], 4);
                pass(&queue_faces[i], 16);
                n++;
            }
    }
    printf("%u queues\n", n);
    return n == 0;
}
