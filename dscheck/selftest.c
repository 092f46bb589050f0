/* SPDX-License-Identifier: MIT */
/*
 * What the instrumentation sees: each construct of C11, of gcc's built-ins and of POSIX threads once, and behind it, after
 * //, the events that it must be, in order.  tests/py/test_constructs.py holds the one against the other, so a compiler
 * that makes something else of a construct is found out.  The program ends in a failed assertion, for the trace.
 *
 * `-` stands for no event, `?` for at least one.  Plain accesses are no events; that they are seen, the test shows by races.
 */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

struct pair {
    int32_t a, b;
};
struct wide {
    void *p;
    uint64_t n;
};
static int array[4];
static atomic_int x;
static atomic_bool boolean;
static atomic_schar tiny;
static atomic_short little;
static atomic_llong large;
static _Atomic unsigned un;
static _Atomic double real;
static _Atomic struct pair both;
static _Atomic struct wide wide;
static int *_Atomic pointer = array;
static atomic_flag flag = ATOMIC_FLAG_INIT;
static _Thread_local atomic_int own;
static int g;
static int *gp = array;
static char byte;
static bool mark;
static volatile int v;

#define RLX memory_order_relaxed
#define SC  memory_order_seq_cst

static void c11(void)
{
    int e = 7;
    struct pair p = {1, 2};
    struct wide w = {0, 1};
    atomic_init(&x, 0);                                                   // store
    atomic_store(&x, 1);                                                  // store
    atomic_store_explicit(&x, 2, memory_order_release);                   // store
    (void)atomic_load(&x);                                                // load
    (void)atomic_load_explicit(&x, memory_order_acquire);                 // load
    (void)atomic_exchange(&x, 3);                                         // exchange
    (void)atomic_exchange_explicit(&x, 3, memory_order_acq_rel);          // exchange
    (void)atomic_compare_exchange_strong(&x, &e, 4);                      // CAS
    (void)atomic_compare_exchange_weak(&x, &e, 4);                        // CAS
    (void)atomic_compare_exchange_strong_explicit(&x, &e, 5, SC, RLX);    // CAS
    (void)atomic_compare_exchange_weak_explicit(&x, &e, 5, RLX, RLX);     // CAS
    (void)atomic_fetch_add(&x, 1);                                        // fetch-add
    (void)atomic_fetch_sub(&x, 1);                                        // fetch-sub
    (void)atomic_fetch_or(&x, 1);                                         // fetch-or
    (void)atomic_fetch_xor(&x, 1);                                        // fetch-xor
    (void)atomic_fetch_and_explicit(&x, 1, RLX);                          // fetch-and
    (void)atomic_flag_test_and_set(&flag);                                // exchange
    (void)atomic_flag_test_and_set_explicit(&flag, memory_order_acquire); // exchange
    atomic_flag_clear(&flag);                                             // store
    atomic_flag_clear_explicit(&flag, memory_order_release);              // store
    atomic_thread_fence(memory_order_seq_cst);                            // -
    atomic_signal_fence(memory_order_seq_cst);                            // -
    atomic_store(&boolean, true);                                         // store
    (void)atomic_load(&tiny);                                             // load
    (void)atomic_fetch_add(&little, 1);                                   // fetch-add
    (void)atomic_exchange(&large, 1);                                     // exchange
    atomic_store(&both, p);                                               // store
    p = atomic_load(&both);                                               // load
    (void)atomic_compare_exchange_strong(&both, &p, p);                   // CAS
    atomic_store(&wide, w);                                               // store
    w = atomic_load(&wide);                                               // load
    w = atomic_exchange(&wide, w);                                        // exchange
    (void)atomic_compare_exchange_weak(&wide, &w, w);                     // CAS
    (void)atomic_fetch_add(&pointer, 1);                                  // fetch-add
    atomic_store(&own, 1);                                                // store
}

static void operators(void)
{
    x = 1;                      // store
    g = x;                      // load
    x += 2;                     // fetch-add
    x -= 2;                     // fetch-sub
    x |= 2;                     // fetch-or
    x &= 2;                     // fetch-and
    x ^= 2;                     // fetch-xor
    x++;                        // fetch-add
    --x;                        // fetch-sub
    un *= 3;                    // load CAS
    un <<= 1;                   // load CAS
    real += 0.5;                // load CAS
    pointer++;                  // fetch-add
    boolean = !boolean;         // load store
    both = (struct pair){3, 4}; // store
    wide = (struct wide){0, 5}; // store
}

static void builtins(void)
{
    int i = 0, o = 0;
    (void)__atomic_load_n(&g, __ATOMIC_ACQUIRE);                                             // load
    __atomic_load(&g, &i, __ATOMIC_SEQ_CST);                                                 // load
    __atomic_store_n(&g, 1, __ATOMIC_RELEASE);                                               // store
    __atomic_store(&g, &i, __ATOMIC_SEQ_CST);                                                // store
    (void)__atomic_exchange_n(&g, 2, __ATOMIC_ACQ_REL);                                      // exchange
    __atomic_exchange(&g, &i, &o, __ATOMIC_SEQ_CST);                                         // exchange
    (void)__atomic_compare_exchange_n(&g, &i, 3, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED); // CAS
    (void)__atomic_compare_exchange(&g, &i, &o, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);   // CAS
    (void)__atomic_fetch_add(&g, 1, __ATOMIC_RELAXED);                                       // fetch-add
    o = __atomic_add_fetch(&g, 1, __ATOMIC_RELAXED);                                         // fetch-add
    o = __atomic_sub_fetch(&g, 1, __ATOMIC_RELAXED);                                         // fetch-sub
    o = __atomic_and_fetch(&g, 7, __ATOMIC_RELAXED);                                         // fetch-and
    o = __atomic_or_fetch(&g, 8, __ATOMIC_RELAXED);                                          // fetch-or
    o = __atomic_xor_fetch(&g, 1, __ATOMIC_RELAXED);                                         // fetch-xor
    o = __atomic_nand_fetch(&g, 1, __ATOMIC_RELAXED);                                        // fetch-nand
    (void)__atomic_fetch_nand(&g, 1, __ATOMIC_RELAXED);                                      // fetch-nand
    (void)__atomic_test_and_set(&mark, __ATOMIC_SEQ_CST);                                    // exchange
    __atomic_clear(&mark, __ATOMIC_SEQ_CST);                                                 // store
    (void)__atomic_load_n(&gp, __ATOMIC_CONSUME);                                            // load
    (void)__atomic_fetch_add(&byte, 1, __ATOMIC_RELAXED);                                    // fetch-add
    __atomic_thread_fence(__ATOMIC_SEQ_CST);                                                 // -
    (void)__sync_fetch_and_add(&g, 1);                                                       // fetch-add
    o = __sync_add_and_fetch(&g, 1);                                                         // fetch-add
    (void)__sync_bool_compare_and_swap(&g, 1, 2);                                            // CAS
    (void)__sync_val_compare_and_swap(&g, 1, 2);                                             // CAS
    (void)__sync_lock_test_and_set(&g, 1);                                                   // exchange
    __sync_lock_release(&g);                                                                 // store
    __sync_synchronize();                                                                    // -
    v = o;                                                                                   // -
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static pthread_key_t key;
static sem_t sem;
static mtx_t mtx;
static cnd_t cnd;
static once_flag flag_once = ONCE_FLAG_INIT;
static tss_t tss;

static void nothing(void)
{
}

static void *thread(void *p)
{
    return p;
}

static int thread11(void *p)
{
    return p != NULL;
}

static void threads(void)
{
    pthread_t t;
    thrd_t u;
    struct timespec now = {0, 0};
    pthread_mutex_lock(&mutex);                  // lock
    pthread_mutex_unlock(&mutex);                // store
    (void)pthread_mutex_trylock(&mutex);         // try-lock
    pthread_cond_signal(&cond);                  // signal
    pthread_cond_broadcast(&cond);               // exchange
    pthread_mutex_unlock(&mutex);                // store
    pthread_rwlock_rdlock(&rw);                  // read-lock
    pthread_rwlock_unlock(&rw);                  // fetch-sub
    pthread_rwlock_wrlock(&rw);                  // lock
    pthread_rwlock_unlock(&rw);                  // store
    pthread_once(&once, nothing);                // ?
    pthread_barrier_init(&barrier, NULL, 1);     // -
    pthread_barrier_wait(&barrier);              // ?
    pthread_spin_init(&spin, 0);                 // -
    pthread_spin_lock(&spin);                    // lock
    pthread_spin_unlock(&spin);                  // store
    pthread_key_create(&key, NULL);              // fetch-add
    pthread_setspecific(key, &key);              // -
    assert(pthread_getspecific(key) == &key);    // -
    sem_init(&sem, 0, 1);                        // -
    sem_wait(&sem);                              // take
    sem_post(&sem);                              // fetch-add
    (void)sem_trywait(&sem);                     // try-take
    pthread_create(&t, NULL, thread, NULL);      // create
    pthread_join(t, NULL);                       // join
    thrd_create(&u, thread11, NULL);             // create
    thrd_join(u, NULL);                          // join
    mtx_init(&mtx, mtx_plain);                   // -
    mtx_lock(&mtx);                              // lock
    (void)cnd_init(&cnd);                        // -
    cnd_signal(&cnd);                            // signal
    cnd_broadcast(&cnd);                         // exchange
    mtx_unlock(&mtx);                            // store
    call_once(&flag_once, nothing);              // ?
    tss_create(&tss, NULL);                      // fetch-add
    tss_set(tss, &tss);                          // -
    (void)pthread_mutex_timedlock(&mutex, &now); // ?
    sched_yield();                               // -
    thrd_yield();                                // -
}

int main(void)
{
    c11();
    operators();
    builtins();
    threads();
    assert(!"the end"); // -
}
