/* SPDX-License-Identifier: MIT */
/*
 * Group: it is cancelled while a member opens a group of its own on its stack, with one member, and closes it. Either that
 * is told, or it had left; or it was refused. What was on the stack is gone afterwards.
 */
#include "group-case.h"

static tn_group outer;
static struct tn_scope member;

static void prepare(void)
{
    tn_group_open(&outer, TN_FOREVER);
    assert(tn_scope_enter(&member, &outer) == 0);
}

static void *cancels(void *random)
{
    case_start(random);
    tn_group_cancel(&outer);
    return case_end();
}

static void *nests(void *random)
{
    case_start(random);
    own = &member;
    tn_group *inner = malloc(sizeof(*inner));
    struct tn_scope *grandchild = malloc(sizeof(*grandchild));
    assert(inner != NULL && grandchild != NULL);
    tn_group_open(inner, TN_FOREVER);
    bool fired = tn_token_fired(&member.token);
    int rc = tn_scope_enter(grandchild, inner);
    assert(rc == 0 || rc == ECANCELED);
    if (rc == 0)
        tn_scope_leave(grandchild, 0);
    free(grandchild);
    int told = tn_group_close(inner);
    assert(told == ECANCELED || (told == 0 && rc == 0 && !fired));
    free(inner);
    own = NULL;
    assert(member.groups == NULL);
    return case_end();
}

static void check(void)
{
    assert(tn_token_fired(&member.token));
    tn_scope_leave(&member, 0);
    assert(tn_group_close(&outer) == ECANCELED);
}

CASE_MAIN(prepare, check, cancels, nests)
