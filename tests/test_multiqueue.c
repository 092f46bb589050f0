/* SPDX-License-Identifier: MIT */
/*
 * core/queues/multiqueue.h: one queue against a sorted array, the whole among threads, and how far from the order of keys its
 * pops are. For that it is held against a simulation of the same policy that shares no line with it, and the simulation
 * against what is known exactly (Walzer and Williams 2024).
 * TENTER_TEST_SEED=n repeats a run with the seed that a failure printed.
 */
#define _POSIX_C_SOURCE 200809L
#define TN_QUEUES_STANDALONE

#include <CUnit/Basic.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/queues/multiqueue.h"

static uint64_t seed;

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void *lines(size_t bytes)
{
    void *memory = aligned_alloc(TN_CACHE_LINE, (bytes + TN_CACHE_LINE - 1) / TN_CACHE_LINE * TN_CACHE_LINE);
    if (memory == NULL)
        abort();
    return memory;
}

static void make(struct tn_multi *m, uint32_t queues, uint32_t buffer)
{
    tn_multi_init(m, queues, buffer, lines(tn_multi_bytes(queues, buffer)));
}

/* ---- one queue is exact ---- */

enum { ROOM = 300 };

static int by_key(const void *a, const void *b)
{
    uint64_t x = (*(struct tn_multi_node *const *)a)->key, y = (*(struct tn_multi_node *const *)b)->key;
    return x < y ? -1 : x > y;
}

/* Random pushes and pops; `spread` is how many keys there are: with few of them many are equal. */
static void one_queue(uint32_t buffer, uint64_t spread)
{
    static struct tn_multi_node nodes[ROOM];
    struct tn_multi_node *there[ROOM], *spare[ROOM];
    struct tn_multi_hand hand = {.random = seed, .stick = 1};
    struct tn_multi m;
    uint64_t rng = seed + buffer + spread, stamp = 0;
    size_t n = 0;

    make(&m, 1, buffer);
    for (size_t i = 0; i < ROOM; i++)
        spare[i] = &nodes[i];
    for (int step = 0; step < 20000; step++) {
        uint64_t r = next_random(&rng);
        if (n < ROOM && r % 16 < (step / 1000 % 2 != 0 ? 10 : 6)) {
            struct tn_multi_node *node = spare[ROOM - 1 - n];
            node->key = spread != 0 ? (r >> 8) % spread : ++stamp; /* 0: in order, as time stamps are */
            node->item = &m;
            tn_multi_push(&m, &hand, 1, node);
            there[n++] = node;
            qsort(there, n, sizeof *there, by_key);
        } else {
            struct tn_multi_node *node = tn_multi_pop(&m, &hand, 1);
            size_t at = 0;
            CU_ASSERT_FATAL((node != NULL) == (n != 0));
            if (n == 0)
                continue;
            CU_ASSERT_FATAL(node->key == there[0]->key && node->item == &m);
            while (there[at] != node && at < n)
                at++;
            CU_ASSERT_FATAL(at < n);
            memmove(&there[at], &there[at + 1], (n - at - 1) * sizeof *there);
            spare[ROOM - n--] = node;
        }
        CU_ASSERT_FATAL(tn_multi_length(&m) == n && tn_multi_valid(&m) && tn_multi_any(&m) == (n != 0));
        CU_ASSERT_FATAL(tn_multi_best(&m, 0) == (n != 0 ? there[0]->key : TN_MULTI_NONE));
    }
    CU_ASSERT(buffer > 16 || hand.refilled > 100);
    free(m.queue);
}

static void test_one_queue(void)
{
    static const uint64_t spreads[] = {0, 3, 1000000};
    for (uint32_t buffer = 1; buffer <= 512; buffer *= 4)
        for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++)
            one_queue(buffer, spreads[i]);
}

/* ---- rank error ---- */

/* Which of the keys 0 … size-1 are queued: a Fenwick tree, so that those below one are counted at once. */
struct present {
    uint32_t size, *sum;
};

static void present_add(struct present *p, uint32_t key, int by)
{
    for (uint32_t i = key + 1; i <= p->size; i += i & -i)
        p->sum[i] += (uint32_t)by;
}

static uint32_t present_below(const struct present *p, uint32_t key)
{
    uint32_t n = 0;
    for (uint32_t i = key; i > 0; i -= i & -i)
        n += p->sum[i];
    return n;
}

struct policy {
    uint32_t queues, stick, hands; /* hands: threads that take turns at random */
    bool independent;              /* of the two draws, as in the analysis; else two different queues */
    bool shuffled;                 /* keys come in any order, else as time stamps do */
};

enum { BACKLOG = 200, OPS = 200000 }; /* of each queue; pops that are counted */

/* The i-th key. Of shuffled ones the smaller come, on the whole, earlier: else the small ones would be gone at the end. */
static uint32_t *keys_of(const struct policy *p, uint32_t n)
{
    uint32_t *key = lines(n * sizeof *key), window = p->queues * BACKLOG / 2;
    uint64_t rng = seed + p->queues;
    for (uint32_t i = 0; i < n; i++)
        key[i] = i;
    for (uint32_t i = 0; p->shuffled && i < n; i++) {
        uint32_t left = n - i, j = i + (uint32_t)(next_random(&rng) % (left < window ? left : window)), was = key[i];
        key[i] = key[j];
        key[j] = was;
    }
    return key;
}

/* The simulation: queues are arrays, a pop looks for the smallest key in one. */
static double simulated(const struct policy *p)
{
    uint32_t first = p->queues * BACKLOG, n = first + OPS, *key = keys_of(p, n), room = first + OPS;
    struct present there = {n, calloc(n + 1, sizeof(uint32_t))};
    struct bag {
        uint32_t *key, n;
    } *bag = calloc(p->queues, sizeof *bag);
    struct {
        uint32_t into, pushes, one, other, pops;
    } hand[16] = {{0, 0, 0, 0, 0}};
    uint64_t rng = ~seed;
    double sum = 0;

    if (there.sum == NULL || bag == NULL)
        abort();
    for (uint32_t i = 0; i < p->queues; i++)
        bag[i].key = lines((room / p->queues * 4 + 1024) * sizeof(uint32_t));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t h = (uint32_t)(next_random(&rng) % p->hands);
        if (hand[h].pushes == 0) {
            hand[h].into = (uint32_t)(next_random(&rng) % p->queues);
            hand[h].pushes = p->stick;
        }
        hand[h].pushes--;
        struct bag *b = &bag[hand[h].into];
        b->key[b->n++] = key[i];
        present_add(&there, key[i], 1);
        if (i < first)
            continue;
        uint32_t best[2] = {0, 0}, from;
        do {
            h = (uint32_t)(next_random(&rng) % p->hands);
            if (hand[h].pops == 0) {
                hand[h].one = (uint32_t)(next_random(&rng) % p->queues);
                do
                    hand[h].other = (uint32_t)(next_random(&rng) % p->queues);
                while (!p->independent && p->queues > 1 && hand[h].other == hand[h].one);
                hand[h].pops = p->stick;
            }
            for (int k = 0; k < 2; k++) {
                struct bag *c = &bag[k == 0 ? hand[h].one : hand[h].other];
                for (uint32_t j = best[k] = 0; j < c->n; j++)
                    if (c->key[j] < c->key[best[k]])
                        best[k] = j;
            }
            struct bag *one = &bag[hand[h].one], *other = &bag[hand[h].other];
            from = one->n == 0 || (other->n != 0 && other->key[best[1]] < one->key[best[0]]);
            b = from == 0 ? one : other;
            hand[h].pops = b->n == 0 ? 0 : hand[h].pops - 1;
        } while (b->n == 0);
        uint32_t got = b->key[best[from]];
        if (p->shuffled) {
            b->key[best[from]] = b->key[--b->n];
        } else {
            memmove(b->key + best[from], b->key + best[from] + 1, (b->n - best[from] - 1) * sizeof(uint32_t));
            b->n--;
        }
        present_add(&there, got, -1);
        sum += present_below(&there, got);
    }
    for (uint32_t i = 0; i < p->queues; i++)
        free(bag[i].key);
    free(bag);
    free(there.sum);
    free(key);
    return sum / OPS;
}

static double measured(const struct policy *p, uint32_t buffer)
{
    uint32_t first = p->queues * BACKLOG, n = first + OPS, *key = keys_of(p, n);
    struct tn_multi_node *nodes = calloc(n, sizeof *nodes);
    struct present there = {n, calloc(n + 1, sizeof(uint32_t))};
    struct tn_multi_hand hand[16];
    struct tn_multi m;
    uint64_t rng = seed;
    double sum = 0;

    if (nodes == NULL || there.sum == NULL)
        abort();
    make(&m, p->queues, buffer);
    for (uint32_t i = 0; i < p->hands; i++)
        hand[i] = (struct tn_multi_hand){.random = seed + 3 * i, .stick = p->stick};
    for (uint32_t i = 0; i < n; i++) {
        nodes[i].key = key[i];
        tn_multi_push(&m, &hand[next_random(&rng) % p->hands], p->queues, &nodes[i]);
        present_add(&there, key[i], 1);
        if (i < first)
            continue;
        struct tn_multi_node *got = tn_multi_pop(&m, &hand[next_random(&rng) % p->hands], p->queues);
        CU_ASSERT_FATAL(got != NULL);
        present_add(&there, (uint32_t)got->key, -1);
        sum += present_below(&there, (uint32_t)got->key);
    }
    CU_ASSERT(tn_multi_valid(&m) && tn_multi_length(&m) == first);
    free(m.queue);
    free(nodes);
    free(there.sum);
    free(key);
    return sum / OPS;
}

static bool near(double got, double wanted, double share)
{
    return got >= wanted * (1 - share) && got <= wanted * (1 + share);
}

/* What is known exactly holds for the simulation. */
static void test_simulation(void)
{
    for (uint32_t n = 1; n <= 64; n *= 2) {
        struct policy p = {.queues = n, .stick = 1, .hands = 1, .independent = true};
        double wanted = 5.0 / 6 * n - 1 + 1 / (6.0 * n), got = simulated(&p);
        if (!near(got, wanted, 0.08) && got > 1e-9)
            printf("\n  %" PRIu32 " queues: simulated %.3f, exactly %.3f ", n, got, wanted);
        CU_ASSERT(near(got, wanted, 0.08) || (n == 1 && got == 0));
    }
}

/* Each number of queues that P workers have at c = 2, by one thread or by several in turn. */
static void test_rank_error(void)
{
    static const struct policy policies[] = {
        {2, 1, 1, false, false},   {4, 1, 2, false, false},  {8, 1, 4, false, false},  {16, 1, 8, false, false},
        {32, 1, 16, false, false}, {64, 1, 1, false, false}, {16, 4, 8, false, false}, {16, 16, 8, false, false},
        {8, 1, 4, false, true},    {8, 8, 4, false, true},
    };
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        for (uint32_t buffer = 1; buffer <= 64; buffer *= 8) {
            const struct policy *p = &policies[i];
            double wanted = simulated(p), got = measured(p, buffer);
            bool good = wanted < 0.01 ? got < 0.01 : near(got, wanted, 0.2);
            CU_ASSERT(good);
            if (!good || buffer == 8)
                printf("\n  %2" PRIu32 " queues, %2" PRIu32 " hands, stick %2" PRIu32 "%s, buffer %" PRIu32
                       ": mean rank error %.2f, simulated %.2f ",
                       p->queues, p->hands, p->stick, p->shuffled ? ", shuffled" : "", buffer, got, wanted);
        }
}

/* ---- the range changes, and each queue has its turn ---- */

static void test_range(void)
{
    static struct tn_multi_node nodes[64];
    struct tn_multi_hand hand = {.random = seed, .stick = 8};
    struct tn_multi m;

    make(&m, 8, 4);
    for (uint64_t i = 0; i < 64; i++) {
        nodes[i].key = i;
        tn_multi_push(&m, &hand, 8, &nodes[i]);
    }
    for (uint32_t i = 2; i < 8; i++)
        tn_multi_empty(&m, &hand, 2, i);
    CU_ASSERT(tn_multi_valid(&m) && tn_multi_length(&m) == 64);
    for (uint32_t i = 0; i < 8; i++)
        CU_ASSERT((tn_multi_best(&m, i) == TN_MULTI_NONE) == (i >= 2));
    for (int i = 0; i < 64; i++)
        CU_ASSERT(tn_multi_pop(&m, &hand, 2) != NULL);
    CU_ASSERT(tn_multi_pop(&m, &hand, 2) == NULL && !tn_multi_any(&m));

    /* One that was put where nobody draws any more comes in its turn, though the others are never empty; also without. */
    for (uint64_t i = 0; i < 8; i++) {
        nodes[i].key = 100 + i;
        tn_multi_push(&m, &hand, 2, &nodes[i]);
    }
    hand.into = 7;
    hand.into_left = 1;
    nodes[8].key = 1;
    tn_multi_push(&m, &hand, 8, &nodes[8]);
    uint32_t turn = 0;
    for (struct tn_multi_node *node = NULL; turn < 8 && node != &nodes[8]; turn++) {
        tn_multi_turn(&m, &hand, 2, turn);
        node = tn_multi_pop(&m, &hand, 2);
        CU_ASSERT_FATAL(node != NULL && (node == &nodes[8]) == (turn == 7));
    }
    CU_ASSERT(turn == 8);
    hand.into = 5;
    hand.into_left = 1;
    tn_multi_push(&m, &hand, 8, &nodes[8]);
    CU_ASSERT(tn_multi_best(&m, 5) == 1);
    int n = 0;
    while (tn_multi_pop(&m, &hand, 2) != NULL)
        n++;
    CU_ASSERT(n == 2 && !tn_multi_any(&m)); /* 8 + 1 - 8, and the one that came again */
    free(m.queue);
}

/* ---- several threads ---- */

enum {
    THREADS = 4,
    EACH = 50000,
    WANTED = 100 * 1000 * 1000 /* operations of --stress */
};

static struct tn_multi shared;
static uint64_t done; /* operations */
static struct tn_multi_node *shared_nodes;
static atomic_uchar *times;
static atomic_uint left;

static void *push_and_pop(void *arg)
{
    uint32_t me = (uint32_t)(uintptr_t)arg, next = 0;
    struct tn_multi_hand hand = {.random = seed + me, .stick = 1 + me};
    uint64_t rng = seed ^ me;
    while (atomic_load(&left) != 0) {
        uint64_t r = next_random(&rng);
        for (uint64_t k = r % 8; k > 0 && next < EACH; k--) {
            struct tn_multi_node *node = &shared_nodes[me * EACH + next++];
            node->key = r >> 16;
            node->item = node;
            tn_multi_push(&shared, &hand, me % 2 == 0 ? 8 : 4, node);
        }
        for (uint64_t k = r / 8 % 8; k > 0; k--) {
            struct tn_multi_node *node = tn_multi_pop(&shared, &hand, 4);
            if (node == NULL)
                break;
            atomic_fetch_add(&times[(struct tn_multi_node *)node->item - shared_nodes], 1);
            atomic_fetch_sub(&left, 1);
        }
        if (r / 64 % 16 == 0)
            sched_yield();
    }
    return NULL;
}

static void test_threads(void)
{
    for (uint32_t buffer = 1; buffer <= 16; buffer *= 4) {
        pthread_t thread[THREADS];
        size_t wrong = 0;
        make(&shared, 8, buffer);
        shared_nodes = calloc(THREADS * EACH, sizeof *shared_nodes);
        times = calloc(THREADS * EACH, 1);
        atomic_store(&left, THREADS * EACH);
        for (uintptr_t i = 0; i < THREADS; i++)
            if (shared_nodes == NULL || times == NULL ||
                pthread_create(&thread[i], NULL, push_and_pop, (void *)i) != 0)
                abort();
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        for (size_t i = 0; i < THREADS * EACH; i++)
            wrong += atomic_load(&times[i]) != 1;
        done += 2 * (THREADS * EACH - wrong); /* each in and out */
        CU_ASSERT(wrong == 0 && tn_multi_valid(&shared) && !tn_multi_any(&shared));
        free(shared.queue);
        free(shared_nodes);
        free((void *)times);
    }
}

static void test_stress(void)
{
    uint64_t given = seed;
    for (done = 0; done < WANTED && CU_get_number_of_failures() == 0; seed++)
        test_threads();
    CU_ASSERT(done >= WANTED);
    printf("\n  %" PRIu64 " operations ", done);
    seed = given;
}

int main(int argc, char **argv)
{
    bool alone = argc > 1 && strcmp(argv[1], "--stress") == 0;
    const char *given = getenv("TENTER_TEST_SEED");
    seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    CU_initialize_registry();
    CU_pSuite suite = CU_add_suite("multiqueue", NULL, NULL);
    if (alone) {
        CU_add_test(suite, "stress", test_stress);
    } else {
        CU_add_test(suite, "one queue is exact", test_one_queue);
        CU_add_test(suite, "the simulation is as the theory says", test_simulation);
        CU_add_test(suite, "rank error as simulated", test_rank_error);
        CU_add_test(suite, "range and turns", test_range);
        CU_add_test(suite, "several threads", test_threads);
    }
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures() + CU_get_number_of_suites_failed();
    if (failed != 0)
        printf("TENTER_TEST_SEED=%" PRIu64 "\n", seed);
    printf("%u passed, %u failed\n", CU_get_number_of_tests_run() - CU_get_number_of_tests_failed(),
           CU_get_number_of_tests_failed());
    CU_cleanup_registry();
    return failed != 0;
}
