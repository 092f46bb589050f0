/* SPDX-License-Identifier: MIT
 *
 * What the parts of the conformance suite share. conformance.c: nothing lost, nothing twice, progress.
 * conformance_wake.c: work behind hogs, wake-ups, also by whom nobody sees; workers that come and go, the end with work left.
 */
#ifndef TESTS_CONFORMANCE_H
#define TESTS_CONFORMANCE_H

#include "harness.h"

#include <stdatomic.h>

/* The most workers of a test: as many as any machine can stand, or as a simulated one has. */
#ifdef TENTER_SIMULATED
enum { MOST_WORKERS = 64 };
#else
enum { MOST_WORKERS = 4 };
#endif

extern tn_runtime *rt;
extern tn_cluster *cl;

struct tn_config with_module(int64_t workers); /* the module that the command line names */
void start_as(const struct tn_config *c);
void start(int64_t workers);
void stop(void);

/* From a fibre or a plain thread. The module may refuse: then others get the time to make room. */
tn_fibre *spawn(void *(*fn)(void *), uintptr_t arg, bool detached);
void join(tn_fibre *f);

/* Fibres' functions: one sets the flag, others yield until it is set, hard or not. */
extern atomic_bool flag;
void *set_flag(void *arg);
void *yield_until_flag(void *hard);

bool few(void); /* a sanitizer's build, which has no room for more fibres at once than a few thousand */

void test_behind_hog(void);
void test_home_is_gone(void);
void test_ping_pong(void);
void test_ping_pong_long(void);
void test_plain_wakers(void);
void test_join_and_leave(void);
void test_join_and_leave_long(void);
void test_extremes(void);
void test_extremes_long(void);
void test_tree(void);
void test_tree_long(void);
void test_host_long(void);
void test_before_parking(void);
void test_crowd(void);
void test_woken_among_yielders(void);
void test_two_clusters(void);
void test_work_left(void);

#endif
