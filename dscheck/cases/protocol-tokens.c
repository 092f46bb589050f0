/* SPDX-License-Identifier: MIT */
/*
 * tokens: a fibre waits under two tokens, its group's and the one that it named, and both fire. Its wait is over once, and when
 * it has left both nobody knows its entries any more: it frees them.
 *
 * It does what wait_registered() in core/wait.c does.
 */
#include "protocol-case.h"

#include "waitword.h"

struct fibre {
    tn_waitword wait;
};

#include "token.h"

static struct token groups, named;
static struct token_entry *entry[2];
static struct fibre fibre;
static _Atomic(int) ready; /* how often it was made so */

static void prepare(void)
{
    token_init(&groups, 1);
    token_init(&named, 1);
    for (int i = 0; i < 2; i++) {
        entry[i] = calloc(1, sizeof(*entry[i]));
        assert(entry[i] != NULL);
    }
    atomic_init(&fibre.wait, 0);
    atomic_init(&ready, 0);
    tn_waitword_prepare(&fibre.wait);
}

static void cancel(struct fibre *f)
{
    uint64_t seq = atomic_load_explicit(&f->wait, memory_order_relaxed) / WAIT_STATES; /* relaxed: of this wait */
    case_pause();
    if (tn_waitword_decide(&f->wait, seq, WAIT_CANCELLED) == TN_DECIDED_PARKED)
        atomic_fetch_add(&ready, 1);
}

static void *waits(void *random)
{
    unsigned spins = 0;
    case_start(random);
    bool in_scope = token_enter(&groups, 1, entry[0], &fibre);
    bool in_token = token_enter(&named, 1, entry[1], &fibre);
    if (!in_scope || !in_token)
        tn_waitword_decide(&fibre.wait, 1, WAIT_CANCELLED);
    else if (tn_waitword_park(&fibre.wait))
        while (atomic_load(&ready) == 0)
            tn_spin_wait(&spins);
    if (in_token)
        token_leave(entry[1]);
    if (in_scope)
        token_leave(entry[0]);
    assert(tn_waitword_outcome(&fibre.wait) == WAIT_CANCELLED);
    free(entry[0]);
    free(entry[1]);
    assert(tn_waitword_prepare(&fibre.wait) == 2); /* its next wait, of which neither may know */
    return case_end();
}

static void *fires_group(void *random)
{
    case_start(random);
    token_fire(&groups, 1, cancel);
    return case_end();
}

static void *fires_named(void *random)
{
    case_start(random);
    token_fire(&named, 1, cancel);
    return case_end();
}

static void check(void)
{
    assert(atomic_load(&ready) <= 1);
    assert(groups.lock.waiting == NULL && named.lock.waiting == NULL);
    assert(tn_waitword_outcome(&fibre.wait) == WAIT_ARMED);
}

CASE_MAIN(prepare, check, waits, fires_group, fires_named)
