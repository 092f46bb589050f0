/* SPDX-License-Identifier: MIT */
/*
 * Group: both of its members bring back what they have of its room, also the one that fails, before it can be closed; who
 * closes it frees the room with it.
 */
#include "group-case.h"

#include <errno.h>

static tn_group *group;
static tn_sem *room;
static struct tn_scope *member[2];

static void prepare(void)
{
    group = malloc(sizeof(*group));
    room = malloc(sizeof(*room));
    assert(group != NULL && room != NULL && tn_sem_init(room, 0, 2) == 0);
    tn_group_open(group, TN_FOREVER);
    tn_group_bound(group, room);
    for (int i = 0; i < 2; i++) {
        member[i] = malloc(sizeof(*member[i]));
        assert(member[i] != NULL && tn_scope_enter(member[i], group) == 0);
        member[i]->room = group->room;
    }
}

static void *ends(void *random)
{
    case_start(random);
    tn_scope_leave(member[0], 0);
    free(member[0]);
    return case_end();
}

static void *fails(void *random)
{
    case_start(random);
    tn_scope_leave(member[1], EIO);
    free(member[1]);
    return case_end();
}

static void *closes(void *random)
{
    case_start(random);
    assert(tn_group_close(group) == EIO);
    free(group);
    assert(tn_sem_trywait_n(room, 2) == 0);
    free(room);
    return case_end();
}

static void check(void)
{
}

CASE_MAIN(prepare, check, ends, fails, closes)
