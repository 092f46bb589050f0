/* SPDX-License-Identifier: MIT */
/*
 * waitlock: a fibre registers with its child while its own lock is held, and the child ends meanwhile: the end finds the
 * joiner without deciding anything, and must not run it before it has left its stack.
 *
 * The joiner does what suspend_for() does with commit_join(), the child what retire() in core/fibre.c does.
 */
#include "protocol-case.h"

#include "joinword.h"
#include "waitlock.h"

static _Alignas(16) struct {
    struct tn_spinlock lock;
} joiner;
static tn_joinword join;
static bool on_stack; /* plain, as in protocol-waitlock.c */
static int context, resumed;

static void prepare(void)
{
    tn_spinlock_init(&joiner.lock);
    atomic_init(&join, TN_JOIN_OPEN);
    on_stack = true;
    context = resumed = 0;
}

static void go_on(void)
{
    assert(!on_stack && context == 1);
    resumed++;
}

static void *parent(void *random)
{
    case_start(random);
    uintptr_t found = TN_JOIN_OPEN;
    tn_spinlock_lock(&joiner.lock);
    bool waits = tn_joinword_register(&join, (uintptr_t)&joiner, &found);
    if (!waits)
        tn_spinlock_unlock(&joiner.lock);
    case_pause();
    context = 1;
    on_stack = false; /* the switch; the next fibre, first of all: */
    if (waits)
        tn_spinlock_unlock(&joiner.lock);
    else
        go_on();
    return case_end();
}

static void *child(void *random)
{
    case_start(random);
    uintptr_t found = tn_joinword_end(&join);
    if (tn_joinword_is_fibre(found)) {
        tn_waitlock_arrived(&joiner.lock);
        go_on();
    }
    return case_end();
}

static void check(void)
{
    assert(resumed == 1);
    assert(tn_joinword_look(&join) == TN_JOIN_DONE);
    assert(tn_spinlock_try_lock(&joiner.lock));
}

CASE_MAIN(prepare, check, parent, child)
