/* SPDX-License-Identifier: MIT */
/*
 * One body for all queues of core/queues/, by the face that workloads use as well.
 *
 * The bodies: edges (empty, full, capacities 1, 2, 4), wrap (the ring goes round many times), model (random operations
 * against a plain array), stress (pushing and taking threads; nothing lost, nothing twice, order where it is promised).
 * TENTER_TEST_SEED=n repeats a run with the seed that a failure printed.  --stress runs the stress alone, on each queue until
 * there have been 10^8 operations, and says how many there were.
 */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "queues.h"

uint64_t seed;

/* ---- one thread ---- */

static const size_t capacities[] = {1, 2, 4, 16};

static void edges(const struct queue_face *a, size_t capacity)
{
    void *q = make(a, capacity);
    void *out[MANY];
    struct queue_item items[MANY] = {0};

    for (int round = 0; round < 5; round++) {
        CU_ASSERT(a->length(q) == 0 && a->pop(q) == NULL && a->take(q, 1, out) == 0 && a->take(q, MANY, out) == 0);
        for (size_t i = 0; i < capacity; i++) {
            CU_ASSERT(a->length(q) == i && a->push(q, &items[i]) && a->valid(q));
        }
        if (a->bounded) {
            CU_ASSERT(!a->push(q, &items[capacity]) && !a->push(q, &items[capacity]) && a->valid(q));
        }
        CU_ASSERT(a->length(q) == capacity && a->take(q, 0, out) == 0 && a->length(q) == capacity);
        for (size_t i = 0; i < capacity; i++) {
            CU_ASSERT(a->pop(q) == &items[a->lifo ? capacity - 1 - i : i] && a->valid(q));
        }
    }
    free(q);
}

static void wrap(const struct queue_face *a, size_t capacity)
{
    void *q = make(a, capacity);
    struct queue_item items[MANY] = {0};

    for (uint32_t n = 0; n < 3000; n++) { /* in and out, with every possible fill left inside */
        size_t fill = 1 + n % capacity;

        for (size_t i = 0; i < fill; i++)
            CU_ASSERT(a->push(q, &items[i]));
        CU_ASSERT(a->length(q) == fill && a->valid(q));
        for (size_t i = 0; i < fill; i++)
            CU_ASSERT(a->pop(q) == &items[a->lifo ? fill - 1 - i : i]);
        CU_ASSERT(a->pop(q) == NULL && a->valid(q));
    }
    free(q);
}

/* take() gives the oldest of an owner's queue, and of a shared one what pop would give. */
static void model(const struct queue_face *a, size_t capacity)
{
    void *q = make(a, capacity), *out[MANY];
    struct queue_item items[MANY + 1] = {0}, *in[MANY], *spare[MANY + 1]; /* an item is queued once at a time */
    size_t limit = a->bounded ? capacity : MANY, count = 0, spares = 0;
    uint64_t rng = seed + capacity;

    while (spares <= MANY) {
        spare[spares] = &items[spares];
        spares++;
    }

    for (int step = 0; step < 20000; step++) {
        uint64_t r = next_random(&rng);

        if (r / 8 % 16 < (step / 500 % 2 != 0 ? 9 : 7)) { /* fills for a while, then empties; in[0] is the oldest */
            bool fits = count < limit;
            if (fits || a->bounded)
                CU_ASSERT(a->push(q, spare[spares - 1]) == fits);
            if (fits)
                in[count++] = spare[--spares];
        } else {
            bool take = r % 4 == 0, newest = a->lifo && !(take && !a->shared);
            size_t max = (size_t)(r >> 32) % 8, n = count > 0;

            if (take) {
                n = a->halves ? (count + 1) / 2 : a->one ? n : count;
                n = n < max ? n : max;
                CU_ASSERT(a->take(q, max, out) == n);
            } else {
                out[0] = a->pop(q);
                CU_ASSERT((out[0] != NULL) == (n != 0));
            }
            for (size_t i = 0; i < n; i++) {
                CU_ASSERT(out[i] == (newest ? in[count - 1 - i] : in[i]));
                spare[spares++] = newest ? in[count - 1 - i] : in[i];
            }
            if (!newest)
                memmove(in, in + n, (count - n) * sizeof(in[0]));
            count -= n;
        }
        CU_ASSERT(a->length(q) == count && a->valid(q));
    }
    free(q);
}

/* ---- several threads ---- */

enum { PER_PRODUCER = 60000, MAX_PRODUCERS = 2, MAX_TAKERS = 3, IDLE_LIMIT = 20 * 1000 * 1000 };

struct stress {
    const struct queue_face *a;
    void *q;
    size_t producers;
    struct queue_item *items; /* [producers][PER_PRODUCER] */
    atomic_uchar *seen;       /* how often each was taken */
    atomic_size_t producing, disorders, stuck;
};

struct role {
    struct stress *s;
    size_t number;
    uint64_t rng;
    uint32_t last[MAX_PRODUCERS]; /* id after the last one seen of each producer */
};

/* `oldest`: it came from the end that thieves take from, where the order is the owner's even if the owner's own is not. */
static void saw(struct role *r, void *p, bool oldest)
{
    struct queue_item *item = p;
    struct stress *s = r->s;

    atomic_fetch_add(&s->seen[item->producer * PER_PRODUCER + item->id], 1);
    if ((s->a->ordered || oldest) && item->id < r->last[item->producer])
        atomic_fetch_add(&s->disorders, 1);
    r->last[item->producer] = item->id + 1;
}

static void *produce(void *arg)
{
    struct role *r = arg;
    struct stress *s = r->s;
    void *p;

    for (uint32_t id = 0; id < PER_PRODUCER;) {
        uint64_t random = next_random(&r->rng);

        for (uint64_t burst = random % 8; burst > 0 && id < PER_PRODUCER; burst--) {
            struct queue_item *item = &s->items[r->number * PER_PRODUCER + id];

            item->producer = (uint32_t)r->number; /* plain: the queue must carry it over */
            item->id = id;
            if (!s->a->push(s->q, item))
                break;
            id++;
        }
        for (uint64_t pops = s->a->single ? 0 : random / 8 % 4; pops > 0 && (p = s->a->pop(s->q)) != NULL; pops--)
            saw(r, p, false);
        if (random / 32 % 16 == 0)
            sched_yield();
    }
    atomic_fetch_sub(&s->producing, 1);
    return NULL;
}

static void *consume(void *arg)
{
    struct role *r = arg;
    struct stress *s = r->s;
    void *out[8];

    for (int idle = 0; idle < IDLE_LIMIT;) {
        bool last = atomic_load(&s->producing) == 0;
        size_t n = s->a->take(s->q, 1 + next_random(&r->rng) % 8, out);

        for (size_t i = 0; i < n; i++)
            saw(r, out[i], !s->a->shared);
        if (n == 0) {
            if (last && s->a->length(s->q) == 0)
                return NULL;
            idle++;
            sched_yield();
        }
    }
    atomic_fetch_add(&s->stuck, 1);
    return NULL;
}

static uint64_t stress(const struct queue_face *a, size_t capacity, size_t takers)
{
    struct stress s = {.a = a, .q = make(a, capacity), .producers = a->shared ? MAX_PRODUCERS : 1};
    struct role roles[MAX_PRODUCERS + MAX_TAKERS] = {0};
    pthread_t threads[MAX_PRODUCERS + MAX_TAKERS];
    size_t n = s.producers + (takers = a->single ? 1 : takers), total = s.producers * PER_PRODUCER, lost = 0,
           twice = 0;

    s.items = calloc(total, sizeof(s.items[0]));
    s.seen = calloc(total, sizeof(s.seen[0]));
    atomic_init(&s.producing, s.producers);
    for (size_t i = 0; i < n; i++) {
        roles[i].s = &s;
        roles[i].number = i;
        roles[i].rng = seed + i * 977 + capacity;
        if (pthread_create(&threads[i], NULL, i < s.producers ? produce : consume, &roles[i]) != 0)
            abort();
    }
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    for (void *p; (p = a->pop(s.q)) != NULL;)
        saw(&roles[0], p, false);
    for (size_t i = 0; i < total; i++) {
        lost += atomic_load(&s.seen[i]) == 0;
        twice += atomic_load(&s.seen[i]) > 1;
    }
    CU_ASSERT(lost == 0 && twice == 0);
    CU_ASSERT(atomic_load(&s.disorders) == 0 && atomic_load(&s.stuck) == 0);
    CU_ASSERT(a->valid(s.q) && a->length(s.q) == 0);
    if (lost + twice + atomic_load(&s.disorders) != 0)
        printf("\n  %s, capacity %zu: lost %zu, twice %zu, out of order %zu\n", a->name, capacity, lost, twice,
               atomic_load(&s.disorders));
    /* After all that it still takes exactly its capacity. */
    for (size_t i = 0; a->bounded && i <= capacity; i++)
        CU_ASSERT(a->push(s.q, &s.items[i]) == (i < capacity));
    free(s.items);
    free((void *)s.seen);
    free(s.q);
    return 2 * (total - lost); /* each in and out */
}

/* ---- the table ---- */

#define FOR_ALL(body)                                                           \
    for (size_t i = 0; i < QUEUE_FACES; i++)                                    \
        for (size_t c = 0; c < sizeof(capacities) / sizeof(capacities[0]); c++) \
            if (capacities[c] >= queue_faces[i].least)                          \
                body;

static void test_edges(void)
{
    FOR_ALL(edges(&queue_faces[i], capacities[c]))
}
static void test_wrap(void)
{
    FOR_ALL(wrap(&queue_faces[i], capacities[c]))
}
static void test_model(void)
{
    FOR_ALL(model(&queue_faces[i], capacities[c]))
}
static uint64_t wanted = 1; /* operations on each queue */

static void test_stress(void)
{
    uint64_t given = seed;

    for (size_t i = 0; i < QUEUE_FACES; i++) {
        const struct queue_face *a = &queue_faces[i];
        unsigned failures = CU_get_number_of_failures();
        uint64_t done = 0;

        for (seed = given; done < wanted && CU_get_number_of_failures() == failures; seed++)
            for (size_t c = 0; c < sizeof(capacities) / sizeof(capacities[0]); c++)
                if (capacities[c] >= a->least)
                    done += stress(a, capacities[c], 1 + (c + i) % MAX_TAKERS);
        CU_ASSERT(done >= wanted);
        if (wanted > 1)
            printf("\n  %s: %" PRIu64 " operations", a->name, done);
    }
    seed = given;
}

int main(int argc, char **argv)
{
    const char *given = getenv("TENTER_TEST_SEED");
    struct timespec now;
    unsigned failures;

    clock_gettime(CLOCK_REALTIME, &now);
    seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)now.tv_nsec * 1000003U + (uint64_t)now.tv_sec;
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 1;
    CU_pSuite suite = CU_add_suite("queues", NULL, NULL);
    bool alone = argc > 1 && strcmp(argv[1], "--stress") == 0;
    wanted = alone ? 100 * 1000 * 1000 : 1;
    if (suite == NULL || (alone && !CU_add_test(suite, "stress", test_stress)))
        return 1;
    if (!alone && (!CU_add_test(suite, "list", test_list) || !CU_add_test(suite, "push_list", test_push_list) ||
                   !CU_add_test(suite, "push_n", test_push_n) || !CU_add_test(suite, "spinlock", test_spinlock) ||
                   !CU_add_test(suite, "spmc_deque: both ends, reversed", test_deque) ||
                   !CU_add_test(suite, "mpmc_ring: balances", test_mpmc_balances) ||
                   !CU_add_test(suite, "edges", test_edges) || !CU_add_test(suite, "wrap", test_wrap) ||
                   !CU_add_test(suite, "model", test_model) || !CU_add_test(suite, "stress", test_stress)))
        return 1;
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    failures = CU_get_number_of_failures();
    if (failures != 0)
        printf("seed %" PRIu64 ": repeat with TENTER_TEST_SEED=%" PRIu64 "\n", seed, seed);
    CU_cleanup_registry();
    return failures != 0;
}
