/* SPDX-License-Identifier: MIT */
/*
 * One body for all queues of core/queues/, by the face that workloads use as well.
 *
 * The bodies: edges (empty, full, capacities 1, 2, 4), wrap (the ring goes round many times), model (random operations
 * against a plain array), stress (pushing and taking threads; nothing lost, nothing twice, order where it is promised).
 * TENTER_TEST_SEED=n repeats a run with the seed that a failure printed.  --stress runs the stress alone, so often that there
 * are 10^8 operations and more on each queue.
 */
#define _POSIX_C_SOURCE 200809L
#define TN_QUEUES_STANDALONE

#include <CUnit/Basic.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "experiments/workloads/queue_faces.h"

static uint64_t seed;

static uint64_t next_random(uint64_t *state) /* SplitMix64 */
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void *make(const struct queue_face *a, size_t capacity)
{
    size_t bytes = (a->bytes(capacity) + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE;
    void *q = aligned_alloc(TN_CACHE_LINE, bytes);

    if (q == NULL)
        abort();
    memset(q, 0xa5, bytes); /* init must not count on zeroes */
    a->init(q, capacity);
    return q;
}

/* ---- one thread ---- */

enum { MANY = 64 };
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

enum { ROUNDS = 220, PER_PRODUCER = 60000, MAX_PRODUCERS = 2, MAX_TAKERS = 3, IDLE_LIMIT = 20 * 1000 * 1000 };

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

static void saw(struct role *r, void *p)
{
    struct queue_item *item = p;
    struct stress *s = r->s;

    atomic_fetch_add(&s->seen[item->producer * PER_PRODUCER + item->id], 1);
    if (s->a->ordered && item->id < r->last[item->producer])
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
            saw(r, p);
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
            saw(r, out[i]);
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

static void stress(const struct queue_face *a, size_t capacity, size_t takers)
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
        saw(&roles[0], p);
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
}

/* ---- what is particular to one of them ---- */

static void test_list(void)
{
    struct queue_item items[6];
    struct tn_list a, b;

    tn_list_init(&a);
    tn_list_init(&b);
    CU_ASSERT(tn_list_empty(&a) && tn_list_valid(&a) && tn_list_pop_front(&a) == NULL);
    for (int i = 0; i < 3; i++) {
        tn_list_push_back(&a, &items[i].link);
        tn_list_push_back(&b, &items[3 + i].link);
    }
    tn_list_append(&a, &b); /* 0 1 2 3 4 5 */
    CU_ASSERT(a.count == 6 && tn_list_valid(&a) && tn_list_empty(&b) && tn_list_valid(&b));
    tn_list_append(&a, &b);
    CU_ASSERT(a.count == 6 && tn_list_move_n(&b, &a, 0) == 0 && tn_list_move_n(&b, &a, 2) == 2); /* 2 3 4 5 | 0 1 */
    CU_ASSERT(tn_list_valid(&a) && tn_list_valid(&b) && tn_list_pop_front(&b) == &items[0].link);
    tn_list_push_front(&b, &items[0].link);
    CU_ASSERT(tn_list_move_n(&b, &a, 9) == 4 && tn_list_empty(&a) && b.count == 6 && tn_list_valid(&b));
    for (int i = 0; i < 6; i++)
        CU_ASSERT(tn_list_pop_front(&b) == &items[i].link && items[i].link.next == NULL && tn_list_valid(&b));
    CU_ASSERT(tn_list_empty(&b));
    for (int i = 0; i < 3; i++)
        tn_list_push_back(&b, &items[i].link);
    items[2].link.next = &items[0].link;
    CU_ASSERT(!tn_list_valid(&b)); /* the check itself: a chain that has become a ring */
}

static void test_push_list(void)
{
    struct tn_locked_queue *q = make(&queue_faces[LOCKED], 1);
    struct queue_item items[4];
    struct tn_list list;

    tn_list_init(&list);
    tn_locked_queue_push_list(q, &list);
    CU_ASSERT(tn_locked_queue_length(q) == 0 && tn_locked_queue_valid(q));
    tn_locked_queue_push_back(q, &items[0].link);
    for (int i = 1; i < 4; i++)
        tn_list_push_back(&list, &items[i].link);
    tn_locked_queue_push_list(q, &list);
    CU_ASSERT(tn_list_empty(&list) && tn_locked_queue_length(q) == 4 && tn_locked_queue_valid(q));
    for (int i = 0; i < 4; i++)
        CU_ASSERT(tn_locked_queue_pop_front(q) == &items[i].link);
    /* A pop that finds it empty must not take the lock: with the lock held it would never return. */
    tn_spinlock_lock(&q->lock);
    CU_ASSERT(tn_locked_queue_pop_front(q) == NULL && tn_locked_queue_pop_n(q, 3, &list) == 0);
    tn_spinlock_unlock(&q->lock);
    free(q);
}

static void test_push_n(void)
{
    struct tn_spmc_fifo *f = make(&queue_faces[FIFO], 4);
    struct tn_spmc_lifo *l = make(&queue_faces[LIFO], 4);
    struct queue_item items[6];
    void *batch[6], *out[4];

    for (int i = 0; i < 6; i++)
        batch[i] = &items[i];
    for (int round = 0; round < 9; round++) { /* 9: every offset against the ring's end */
        CU_ASSERT(tn_spmc_fifo_push_n(f, 0, batch) == 0 && tn_spmc_fifo_push_n(f, 3, batch) == 3);
        CU_ASSERT(tn_spmc_fifo_push_n(f, 3, batch + 3) == 1 && tn_spmc_fifo_push_n(f, 1, batch) == 0);
        CU_ASSERT(tn_spmc_lifo_push_n(l, 0, batch) == 0 && tn_spmc_lifo_push_n(l, 6, batch) == 4);
        CU_ASSERT(tn_spmc_fifo_steal(f, 9, out) == 2 && out[0] == batch[0] && out[1] == batch[1]);
        CU_ASSERT(tn_spmc_lifo_steal(l, 9, out) == 2 && out[0] == batch[0] && out[1] == batch[1]);
        CU_ASSERT(tn_spmc_fifo_push_n(f, 6, batch + 4) == 2 && tn_spmc_fifo_valid(f));
        for (int i = 2; i < 6; i++)
            CU_ASSERT(tn_spmc_fifo_pop(f) == batch[i]);
        CU_ASSERT(tn_spmc_lifo_pop(l) == batch[3] && tn_spmc_lifo_pop(l) == batch[2] && tn_spmc_lifo_pop(l) == NULL);
        CU_ASSERT(tn_spmc_fifo_pop(f) == NULL && tn_spmc_fifo_valid(f) && tn_spmc_lifo_valid(l));
    }
    free(f);
    free(l);
}

/* Everything that a deque can do, reversals too, against an array whose last item is the top. */
static void test_deque(void)
{
    for (size_t capacity = 1; capacity <= 16; capacity *= 2) {
        struct tn_spmc_deque *q = make(&queue_faces[DEQUE], capacity);
        struct queue_item items[MANY];
        void *in[MANY], *out[MANY];
        size_t count = 0;
        uint64_t rng = seed + capacity;

        for (int step = 0; step < 20000; step++) {
            uint64_t r = next_random(&rng);
            size_t n = (size_t)(r >> 32) % 5, room = capacity - count, half = (count + 1) / 2;

            switch (r % 6) {
            case 0:
            case 1: /* the same item several times: what it is does not matter */
                for (size_t i = 0; i < n; i++)
                    out[i] = &items[(r >> 8) % MANY];
                CU_ASSERT(tn_spmc_deque_push_n(q, n, out) == (n < room ? n : room));
                for (size_t i = 0; i < n && i < room; i++)
                    in[count++] = out[i];
                break;
            case 2:
                CU_ASSERT(tn_spmc_deque_pop(q) == (count != 0 ? in[count - 1] : NULL));
                count -= count != 0;
                break;
            case 3:
                CU_ASSERT(tn_spmc_deque_pop_bottom(q) == (count != 0 ? in[0] : NULL));
                if (count != 0)
                    memmove(in, in + 1, --count * sizeof in[0]);
                break;
            case 4:
                n = n < half ? n : half;
                CU_ASSERT(tn_spmc_deque_steal(q, n, out) == n && memcmp(in, out, n * sizeof in[0]) == 0);
                memmove(in, in + n, (count -= n) * sizeof in[0]);
                break;
            default:
                tn_spmc_deque_reverse(q);
                for (size_t i = 0; i < count / 2; i++) {
                    void *swap = in[i];
                    in[i] = in[count - 1 - i];
                    in[count - 1 - i] = swap;
                }
            }
            CU_ASSERT(tn_spmc_deque_length(q) == count && tn_spmc_deque_valid(q));
        }
        free(q);
    }
}

/* The states that only concurrent operations leave behind, set by hand. */
static void test_mpmc_balances(void)
{
    struct tn_mpmc_ring *q = make(&queue_faces[RING], 2);
    struct queue_item x, y;

    /* Two consumers gave up on slot 0 and one on slot 1. */
    atomic_store(&q->head, 3);
    atomic_store(&q->slot[0], TN_MPMC_EMPTY - 2 * TN_MPMC_UNIT);
    CU_ASSERT(!tn_mpmc_valid(q)); /* the check itself: slot 1 does not add up yet */
    atomic_store(&q->slot[1], TN_MPMC_EMPTY - TN_MPMC_UNIT);
    CU_ASSERT(tn_mpmc_valid(q) && tn_mpmc_length(q) == 0 && tn_mpmc_pop(q) == NULL);
    CU_ASSERT(tn_mpmc_push(q, &x) && tn_mpmc_valid(q) && tn_mpmc_push(q, &y) && !tn_mpmc_push(q, &y));
    CU_ASSERT(tn_mpmc_valid(q) && tn_mpmc_pop(q) == &x && tn_mpmc_pop(q) == &y && tn_mpmc_pop(q) == NULL);

    /* A producer gave up on slot 0 while x was in it: x goes first, then one ticket of consumers is void. */
    tn_mpmc_init(q, 2);
    CU_ASSERT(tn_mpmc_push(q, &x) && tn_mpmc_push(q, &y));
    atomic_store(&q->tail, 3);
    atomic_fetch_add(&q->slot[0], TN_MPMC_UNIT);
    CU_ASSERT(tn_mpmc_valid(q) && tn_mpmc_length(q) == 2 && !tn_mpmc_push(q, &y) && tn_mpmc_pop(q) == &x);
    CU_ASSERT(tn_mpmc_valid(q) && tn_mpmc_length(q) == 2 && tn_mpmc_pop(q) == &y && tn_mpmc_valid(q));
    CU_ASSERT(tn_mpmc_pop(q) == NULL && tn_mpmc_length(q) == 0 && tn_mpmc_valid(q));
    CU_ASSERT(tn_mpmc_push(q, &x) && tn_mpmc_push(q, &y) && !tn_mpmc_push(q, &y) && tn_mpmc_valid(q));

    /* A consumer stands still with ticket 0, its item in place: the others go past slot 0, both ways. */
    tn_mpmc_init(q, 2);
    CU_ASSERT(tn_mpmc_push(q, &x));
    atomic_store(&q->head, 1);
    CU_ASSERT(tn_mpmc_pop(q) == NULL && tn_mpmc_push(q, &y) && tn_mpmc_pop(q) == &y);
    CU_ASSERT(tn_mpmc_push(q, &y)); /* ticket 2 is spent on slot 0, ticket 3 used */
    CU_ASSERT(atomic_load(&q->tail) == 4 && !tn_mpmc_push(q, &y) && tn_mpmc_pop(q) == &x && tn_mpmc_pop(q) == &y);
    CU_ASSERT(!tn_mpmc_valid(q));                /* the consumer's own ticket is still out */
    atomic_fetch_sub(&q->slot[0], TN_MPMC_UNIT); /* it comes back, finds x gone and its ticket void */
    CU_ASSERT(tn_mpmc_valid(q) && tn_mpmc_length(q) == 0);
    free(q);
}

static struct tn_spinlock lock = TN_SPINLOCK_INIT;
static uint64_t guarded; /* under lock, plain */

static void *lock_and_count(void *arg)
{
    for (int i = 0; i < 20000; i++) {
        if (i % 4 != 0)
            tn_spinlock_lock(&lock);
        else
            while (!tn_spinlock_try_lock(&lock))
                sched_yield();
        guarded++;
        tn_spinlock_unlock(&lock);
    }
    return arg;
}

static void test_spinlock(void)
{
    pthread_t threads[3];

    CU_ASSERT(tn_spinlock_try_lock(&lock) && !tn_spinlock_try_lock(&lock) && tn_spinlock_valid(&lock));
    tn_spinlock_unlock(&lock);
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, lock_and_count, NULL) != 0)
            abort();
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CU_ASSERT(guarded == 3 * 20000 && tn_spinlock_valid(&lock) && tn_spinlock_try_lock(&lock));
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
static int rounds = 1;

static void test_stress(void)
{
    uint64_t given = seed;

    for (int round = 0; round < rounds; round++, seed++)
        FOR_ALL(stress(&queue_faces[i], capacities[c], 1 + (c + i) % MAX_TAKERS))
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
    rounds = alone ? ROUNDS : 1;
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
