/* SPDX-License-Identifier: MIT */
/*
 * token: in a child of fork, two fibres come to a token that a thread of the parent was just then at, which did not come
 * along: it is locked, and holds the parent's fibres. It is emptied once, before both enter themselves.
 *
 * They do what token_enter() in core/wait.c does.
 */
#include "protocol-case.h"

#include "tokenlock.h"

enum { PARENT = 1, CHILD, FIBRES = 2 };
struct fibre {
    struct token_entry entry;
};

static struct tn_tokenlock token;
static struct token_entry parents;
static struct fibre fibre[FIBRES];

static void prepare(void)
{
    tn_tokenlock_init(&token, PARENT);
    tn_tokenlock_lock(&token, PARENT);
    token.waiting = &parents;
    memset(fibre, 0, sizeof(fibre));
}

static void enter(struct fibre *f)
{
    tn_tokenlock_lock(&token, CHILD);
    f->entry.next = token.waiting;
    case_pause();
    token.waiting = &f->entry;
    tn_tokenlock_unlock(&token);
}

static void *fibre0(void *random)
{
    case_start(random);
    enter(&fibre[0]);
    return case_end();
}

static void *fibre1(void *random)
{
    case_start(random);
    enter(&fibre[1]);
    return case_end();
}

static void check(void)
{
    struct token_entry *last = token.waiting, *first = last->next;
    assert(first != NULL && first != &parents && first != last && first->next == NULL);
    tn_tokenlock_lock(&token, CHILD);
    tn_tokenlock_unlock(&token);
}

CASE_MAIN(prepare, check, fibre0, fibre1)
