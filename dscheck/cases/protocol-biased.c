/* SPDX-License-Identifier: MIT */
/*
 * biased: an owner who enters twice, and two thieves who try to revoke its lock.  What the lock guards is plain data:
 * nobody is inside with another one, nobody's work is lost, and the owner always gets in.
 */
#include "protocol-case.h"

#include "parts/biased.h"

enum { VISITS = 2, PATIENCE = 4 };
static struct tn_biased lock;
static volatile int inside, count; /* under lock; volatile so that each access is one, and plain all the same */
static bool got[2];

static void prepare(void)
{
    memset(&lock, 0, sizeof(lock));
    inside = count = 0;
    got[0] = got[1] = false;
}

static void section(void)
{
    assert(inside == 0);
    inside = 1;
    int n = count;
    count = n + 1;
    assert(inside == 1);
    inside = 0;
}

static void *owner(void *random)
{
    case_start(random);
    for (int i = 0; i < VISITS; i++) {
        uint32_t turn = tn_biased_enter(&lock);
        section();
        tn_biased_leave(&lock, turn);
    }
    return case_end();
}

static bool steal(void)
{
    if (!tn_biased_revoke(&lock, PATIENCE))
        return false;
    section();
    tn_biased_restore(&lock);
    return true;
}

static void *thief0(void *random)
{
    case_start(random);
    got[0] = steal();
    return case_end();
}
static void *thief1(void *random)
{
    case_start(random);
    got[1] = steal();
    return case_end();
}

static void check(void)
{
    assert(count == VISITS + got[0] + got[1]);
    assert(atomic_load_explicit(&lock.seq, memory_order_relaxed) == 2 * VISITS);
    assert(atomic_load_explicit(&lock.revoked, memory_order_relaxed) == 0);
}

CASE_MAIN(prepare, check, owner, thief0, thief1)
