/* SPDX-License-Identifier: MIT
 *
 * What a member of a group is cancelled by. It lies at the beginning of the member's stack: who is in no group pays
 * nothing for it.
 */
#ifndef TN_SCOPE_H
#define TN_SCOPE_H

#include "tenter_group.h"
#include "tokenlock.h"

struct tn_scope {
    /* the fibre itself */
    struct token_entry entry; /* with the token below: under that */
    tn_time deadline;         /* constant */
    bool masked;
    tn_sem *room; /* what it brings a unit back to at its end; NULL: nothing */

    /* anyone */
    tn_token token;  /* fires when the group is cancelled */
    tn_group *group; /* constant */

    /* under the group's lock */
    struct tn_scope *next, **at;
    tn_group *groups; /* opened by this member, and not closed */
};

/* By who spawns, before the fibre can run. ECANCELED: it is no member. */
int tn_scope_enter(struct tn_scope *s, tn_group *g);
/* At its end: error 0 for none. Another may close the group then: it is not touched after that. */
void tn_scope_leave(struct tn_scope *s, int error);

#endif
