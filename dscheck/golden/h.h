/* SPDX-License-Identifier: MIT */
#ifndef H_H
#define H_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <assert.h>
#include <stdint.h>
#define THR(name) static void *name(__attribute__((unused)) void *arg_)
#define RET       return 0
typedef pthread_t thr_t;
#define SPAWN(t, f, a) pthread_create(&(t), 0, (f), (void *)(a))
#define JOIN(t)        pthread_join(t, 0)
#define MAIN           int main(void)
#define ASSERT(x)      assert(x)
#define YIELD()        ((void)0)
#ifdef SCONLY
#define RLX memory_order_seq_cst
#define ACQ memory_order_seq_cst
#define REL memory_order_seq_cst
#define AR  memory_order_seq_cst
#else
#define RLX memory_order_relaxed
#define ACQ memory_order_acquire
#define REL memory_order_release
#define AR  memory_order_acq_rel
#endif
#define SC              memory_order_seq_cst
#define LD(x, o)        atomic_load_explicit(&(x), o)
#define ST(x, v, o)     atomic_store_explicit(&(x), v, o)
#define XC(x, v, o)     atomic_exchange_explicit(&(x), v, o)
#define FA(x, v, o)     atomic_fetch_add_explicit(&(x), v, o)
#define CAS(x, e, n, o) atomic_compare_exchange_strong_explicit(&(x), &(e), n, o, ACQ)
#ifndef N
#define N 2
#endif
#endif
