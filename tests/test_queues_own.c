/* SPDX-License-Identifier: MIT */
/*
 * Of the suite of queues (test_queues.c): what is particular to one structure, the list and the spin lock.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <sched.h>

#include "queues.h"

void test_list(void)
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
    tn_list_push_back(&b, &items[0].link); /* goes round: 0, 1 0, 2 1 */
    CU_ASSERT(tn_list_rotate(&b, &items[1].link) == &items[0].link && b.count == 1 && tn_list_valid(&b));
    tn_list_push_back(&b, &items[0].link);
    CU_ASSERT(tn_list_rotate(&b, &items[2].link) == &items[1].link && b.count == 2 && tn_list_valid(&b));
    CU_ASSERT(tn_list_pop_front(&b) == &items[0].link && tn_list_pop_front(&b) == &items[2].link);
    for (int i = 0; i < 3; i++)
        tn_list_push_back(&b, &items[i].link);
    items[2].link.next = &items[0].link;
    CU_ASSERT(!tn_list_valid(&b)); /* the check itself: a chain that has become a ring */
}

void test_push_list(void)
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

void test_push_n(void)
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
void test_deque(void)
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
void test_mpmc_balances(void)
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

void test_spinlock(void)
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
