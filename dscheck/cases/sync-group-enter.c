/* SPDX-License-Identifier: MIT */
/*
 * Group: it is cancelled while somebody spawns in it: the new member is told, or refused.
 */
#include "group-case.h"

static tn_group group;
static struct tn_scope member;
static int entered;

static void prepare(void)
{
    tn_group_open(&group, TN_FOREVER);
}

static void *cancels(void *random)
{
    case_start(random);
    tn_group_cancel(&group);
    return case_end();
}

static void *enters(void *random)
{
    case_start(random);
    entered = tn_scope_enter(&member, &group);
    return case_end();
}

static void check(void)
{
    assert(entered == ECANCELED || (entered == 0 && tn_token_fired(&member.token)));
    if (entered == 0)
        tn_scope_leave(&member, 0);
    assert(tn_group_close(&group) == ECANCELED);
}

CASE_MAIN(prepare, check, cancels, enters)
