/* SPDX-License-Identifier: MIT
 *
 * What the suites of preemption share.
 */
#ifndef TESTS_PREEMPTING_H
#define TESTS_PREEMPTING_H

enum { PERIOD_US = 500 };

static inline struct tn_config preempting(int64_t workers)
{
    struct tn_config c = with(workers, NULL);
    c.preempt_us = PERIOD_US;
    return c;
}

static inline tn_runtime *start(int64_t workers)
{
    struct tn_config c = preempting(workers);
    tn_runtime *rt = NULL;
    CHECK_EQUAL(tn_start(&rt, &c), 0);
    return rt;
}

static inline tn_fibre *spawn(tn_runtime *rt, void *(*fn)(void *), void *arg)
{
    tn_fibre *f = NULL;
    CHECK_EQUAL(tn_spawn(&f, &(struct tn_attr){.runtime = rt}, fn, arg), 0);
    return f;
}

static inline void join(tn_fibre *f)
{
    CHECK_EQUAL(tn_join(f, NULL), 0);
}

static inline void *set(void *flag)
{
    *(volatile bool *)flag = true;
    return NULL;
}

static inline void *until_set(void *flag)
{
    while (!*(volatile bool *)flag)
        ;
    return NULL;
}

#endif
