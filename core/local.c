/* SPDX-License-Identifier: MIT
 *
 * Fibre-local storage. A fibre that uses it owns a chain of blocks of pairs (key, value), newest first. Blocks come from
 * the runtime, and go back to it when the fibre has ended; those of fibres that tn_stop drops go with the runtime.
 */
#include "internal.h"

enum { LOCAL_PAIRS = 6, LOCAL_ROUNDS = 4 };

struct local_block {
    struct local_block *next; /* the fibre's chain; or, under the lock, the list of free ones */
    struct local_block *all;  /* under the lock */
    struct local_pair {
        const tn_key *key; /* NULL: free */
        void *value;
    } pair[LOCAL_PAIRS];
};

static struct local_block *block_take(struct locals *l)
{
    tn_spinlock_lock(&l->lock);
    struct local_block *b = l->free;
    if (b != NULL)
        l->free = b->next;
    tn_spinlock_unlock(&l->lock);
    if (b != NULL || (b = tn_sched_alloc(sizeof *b)) == NULL)
        return b;
    tn_spinlock_lock(&l->lock);
    b->all = l->all;
    l->all = b;
    tn_spinlock_unlock(&l->lock);
    return b;
}

static void block_give(struct locals *l, struct local_block *b)
{
    tn_spinlock_lock(&l->lock);
    b->next = l->free;
    l->free = b;
    tn_spinlock_unlock(&l->lock);
}

void locals_fini(struct locals *l)
{
    for (struct local_block *b; (b = l->all) != NULL;) {
        l->all = b->all;
        tn_sched_free(b, sizeof *b);
    }
}

/* The pair of a key, NULL for a free one; NULL: there is none. */
static struct local_pair *find(struct fibre *f, const tn_key *key)
{
    for (struct local_block *b = f->locals; b != NULL; b = b->next)
        for (int i = 0; i < LOCAL_PAIRS; i++)
            if (b->pair[i].key == key)
                return &b->pair[i];
    return NULL;
}

TN_API __attribute__((noinline)) void *tn_local_get(const tn_key *key)
{
    struct worker *w = tn_self();
    struct local_pair *p = w != NULL && w->current != NULL ? find(w->current, key) : NULL;
    return p != NULL ? p->value : NULL;
}

TN_API __attribute__((noinline)) int tn_local_set(const tn_key *key, void *value)
{
    struct worker *w = tn_self();
    if (w == NULL)
        return EPERM;
    struct fibre *f = w->current;
    struct local_pair *p = find(f, key);
    if (p == NULL && value == NULL)
        return 0;
    if (p == NULL)
        p = find(f, NULL);
    if (p == NULL) {
        struct local_block *b = block_take(&cluster_of(w->pub.cluster)->rt->locals);
        if (b == NULL)
            return ENOMEM;
        b->next = f->locals;
        f->locals = b;
        p = &b->pair[0];
    }
    *p = (struct local_pair){value != NULL ? key : NULL, value};
    return 0;
}

/* One destructor, of any value that is left. False: there was none. One that ends its fibre by tn_exit does not come
 * back: the rest goes on from there. */
static bool destroy_one(struct fibre *f)
{
    f->destroyed++;
    for (struct local_block *b = f->locals; b != NULL; b = b->next)
        for (int i = LOCAL_PAIRS; i-- > 0;) {
            struct local_pair p = b->pair[i];
            b->pair[i] = (struct local_pair){NULL, NULL};
            if (p.key != NULL && p.key->destructor != NULL) {
                p.key->destructor(p.value);
                return true;
            }
        }
    return false;
}

/* At the end of the calling fibre, on its stack. A destructor may block, and so the worker may be another one
 * afterwards; it may set values again, as often as LOCAL_ROUNDS times over for each that there was room for. */
struct worker *locals_end(struct fibre *f)
{
    unsigned most = 0;
    for (struct local_block *b = f->locals; b != NULL; b = b->next)
        most += LOCAL_PAIRS * LOCAL_ROUNDS;
    while (f->destroyed < most && destroy_one(f))
        ;
    f->destroyed = 0;
    struct worker *w = tn_self_now();
    for (struct local_block *b; (b = f->locals) != NULL;) {
        f->locals = b->next;
        for (int i = 0; i < LOCAL_PAIRS; i++)
            b->pair[i] = (struct local_pair){NULL, NULL};
        block_give(&cluster_of(w->pub.cluster)->rt->locals, b);
    }
    return w;
}
