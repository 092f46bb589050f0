/* SPDX-License-Identifier: MIT */
/*
 * Group: of two members one fails, and frees what it was a member with, as the other does; who closes the group frees that.
 * Each is told, or has left before; nobody touches what has been freed.
 */
#include "group-case.h"

#include <errno.h>

static tn_group *group;
static struct tn_scope *member[2];

static void prepare(void)
{
    group = malloc(sizeof(*group));
    assert(group != NULL);
    tn_group_open(group, TN_FOREVER);
    for (int i = 0; i < 2; i++) {
        member[i] = malloc(sizeof(*member[i]));
        assert(member[i] != NULL && tn_scope_enter(member[i], group) == 0);
    }
}

static void *fails(void *random)
{
    case_start(random);
    tn_scope_leave(member[0], EIO);
    free(member[0]);
    return case_end();
}

static void *ends(void *random)
{
    case_start(random);
    tn_scope_leave(member[1], 0);
    free(member[1]);
    return case_end();
}

static void *closes(void *random)
{
    case_start(random);
    assert(tn_group_close(group) == EIO);
    assert(group->members == NULL && group->cancelled);
    free(group);
    return case_end();
}

static void check(void)
{
}

CASE_MAIN(prepare, check, fails, ends, closes)
