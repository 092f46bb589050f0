/* SPDX-License-Identifier: MIT
 *
 * What the suites of what fibres and threads wait for each other with share: a runtime, a party of fibres and threads that
 * do the same, and the one body for deadlines and tokens.
 */
#ifndef TESTS_SYNC_H
#define TESTS_SYNC_H

#include "harness.h"

#include "sync/innerlock.h"
#include "tenter_sync.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool stress;
static tn_runtime *rt;

/* fn by a plain thread, beside one worker and beside two. */
static inline void beside(void (*fn)(void))
{
    for (int workers = 1; workers <= 2; workers++) {
        struct tn_config c = with(workers, NULL);
        CHECK_EQUAL(tn_start(&rt, &c), 0);
        fn();
        CHECK_EQUAL(tn_stop(rt), 0);
    }
}

enum { PARTY = 128 };

struct party {
    tn_fibre *fibre[PARTY];
    pthread_t thread[PARTY];
    unsigned fibres, threads;
};

/* fn(its number): the fibres from 0, then the threads. */
static inline void invite(struct party *p, unsigned fibres, unsigned threads, void *(*fn)(void *))
{
    p->fibres = fibres;
    p->threads = threads;
    for (uintptr_t i = 0; i < fibres; i++)
        CHECK_EQUAL(tn_spawn(&p->fibre[i], &(struct tn_attr){.runtime = rt}, fn, (void *)i), 0);
    for (uintptr_t i = 0; i < threads; i++)
        CHECK_EQUAL(pthread_create(&p->thread[i], NULL, fn, (void *)(fibres + i)), 0);
}

static inline void all_gone(struct party *p)
{
    for (unsigned i = 0; i < p->fibres; i++)
        CHECK_EQUAL(tn_join(p->fibre[i], NULL), 0);
    for (unsigned i = 0; i < p->threads; i++)
        CHECK_EQUAL(pthread_join(p->thread[i], NULL), 0);
}

static inline void party(unsigned fibres, unsigned threads, void *(*fn)(void *))
{
    struct party p;
    invite(&p, fibres, threads, fn);
    all_gone(&p);
}

/* The lock of a primitive. What a parklock sleeps by is hidden in a shared library, which a build that preempts is: here it
 * is waited for without sleeping, and who sleeps for it is woken by hand. */
static inline void peek(struct tn_innerlock *lock)
{
#if TN_LOCK == TN_LOCK_PARK
    for (uint32_t none = 0; !atomic_compare_exchange_strong(&lock->word, &none, 1); none = 0)
        sched_yield();
#else
    tn_innerlock_lock(lock);
#endif
}

static inline void peeked(struct tn_innerlock *lock)
{
#if TN_LOCK == TN_LOCK_PARK
    if (atomic_exchange(&lock->word, 0) == 2)
        syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
#else
    tn_innerlock_unlock(lock);
#endif
}

/* How many are in the ring. */
static inline unsigned waiting(struct tn_waits *w)
{
    struct node {
        struct node *next;
    } * first;
    unsigned n = 0;
    struct tn_innerlock *lock = (struct tn_innerlock *)(void *)&w->lock;
    peek(lock);
    first = w->ring;
    for (struct node *node = first; node != NULL; node = node->next == first ? NULL : node->next)
        n++;
    peeked(lock);
    return n;
}

/* ---- deadlines and tokens: wait() would wait for ever ---- */

static struct {
    int (*wait)(tn_time deadline, tn_token *token);
    tn_token token;
    bool cancel;
    tn_time deadline;
    _Atomic(int) at, rc;
} late;

static inline void *waits_late(void *arg)
{
    atomic_store(&late.at, 1);
    atomic_store(&late.rc, late.wait(late.deadline, &late.token));
    return arg;
}

static inline void too_late(int (*wait)(tn_time, tn_token *))
{
    late.wait = wait;
    for (int how = 0; how < 8; how++) { /* also deadlines that are over, or as far as can be */
        struct party p;
        late.cancel = how % 2;
        late.deadline =
            how < 4 ? (late.cancel ? TN_FOREVER : tn_now() + 2000000) : (late.cancel ? TN_FOREVER - 1 : 1);
        atomic_store(&late.at, 0);
        atomic_store(&late.rc, -1);
        tn_token_init(&late.token);
        invite(&p, how / 2 % 2 == 0, how / 2 % 2 != 0, waits_late);
        while (atomic_load(&late.at) == 0)
            sched_yield();
        if (late.cancel) {
            nap_us(300);
            tn_token_fire(&late.token);
        }
        all_gone(&p);
        CHECK_EQUAL(atomic_load(&late.rc), late.cancel ? ECANCELED : ETIMEDOUT);
    }
    CHECK_EQUAL(wait(TN_FOREVER, &late.token), ECANCELED); /* fired before */
    CHECK_EQUAL(wait(0, NULL), ETIMEDOUT);
}

/* ---- a deadline against what is waited for: each wait ends once, by the one or by the other ---- */

static struct {
    int (*wait)(tn_time deadline, tn_token *token);
    tn_time deadline[PARTY];
    _Atomic(int) in_time, timed_out;
} against;

static inline void *waits_against(void *number)
{
    tn_time deadline = against.deadline[(uintptr_t)number];
    int rc = against.wait(deadline, NULL);
    CHECK(rc == 0 || (rc == ETIMEDOUT && tn_now() >= deadline));
    atomic_fetch_add(rc == 0 ? &against.in_time : &against.timed_out, 1);
    return NULL;
}

/* Again and again: what three fibres and a thread wait for is begun, and brought about when their deadlines come, which are spread
 * around that; then nobody is left at it. */
static inline void deadlines_against(void (*begin)(void), int (*wait)(tn_time, tn_token *), void (*bring)(void),
                                     void (*end)(void))
{
    uint64_t random = harness_seed();
    int rounds = stress ? 3000 : 100;
    against.wait = wait;
    atomic_store(&against.in_time, 0), atomic_store(&against.timed_out, 0);
    for (int i = 0; i < rounds; i++) {
        struct party p;
        begin();
        tn_time at = tn_now() + 100000;
        for (int j = 0; j < 4; j++)
            against.deadline[j] = at - 40000 + harness_random(&random) % 80000;
        invite(&p, 3, 1, waits_against);
        while (tn_now() < at)
            ;
        bring();
        all_gone(&p);
        CHECK_EQUAL(wait(0, NULL), 0); /* it is there for who comes later */
        end();
    }
    CHECK_EQUAL(atomic_load(&against.in_time) + atomic_load(&against.timed_out), 4 * rounds);
    harness_note("%d in time, %d too late", atomic_load(&against.in_time), atomic_load(&against.timed_out));
}

static inline int sync_main(int argc, char **argv, const char *suite, const struct test *tests, size_t n)
{
    stress = argc > 1 && strcmp(argv[1], "--stress") == 0;
    if (stress)
        harness_patience(600);
    return harness_run(suite, tests, n);
}
#define SYNC_MAIN(suite, tests)                                                         \
    int main(int argc, char **argv)                                                     \
    {                                                                                   \
        return sync_main(argc, argv, suite, tests, sizeof(tests) / sizeof((tests)[0])); \
    }

#endif
