/* SPDX-License-Identifier: MIT */
/*
 * idle: the lists of the idle and the busy.  Two workers announce themselves and withdraw, unless a waker was faster; a
 * third thread wakes, and walks over the busy ones as a thief does.  At any instant at which the lock is free each worker
 * is on exactly one list, and the counts are the lists' lengths.
 */
#include "protocol-case.h"

enum { WORKERS = 2, ROUNDS = 1 };
#include "idle-lists.h"

static uint32_t length(struct tn_idle_list *list, int on)
{
    uint32_t n = 0;
    struct tn_idle_slot *prev = NULL;
    for (struct tn_idle_slot *s = list->head; s != NULL; prev = s, s = s->next, n++)
        assert((int)s->on == on && s->prev == prev && n < WORKERS);
    assert(list->tail == prev);
    return n;
}

static void look(void)
{
    tn_spinlock_lock(&idle.lock);
    uint32_t n_idle = length(&idle.idle, TN_ON_IDLE), n_busy = length(&idle.busy, TN_ON_BUSY);
    assert(n_idle + n_busy == WORKERS);
    assert(n_idle == tn_idle_workers(&idle) && n_busy == atomic_load_explicit(&busy, memory_order_relaxed));
    tn_spinlock_unlock(&idle.lock);
}

static void *waker(void *random)
{
    case_start(random);
    uint32_t how;
    tn_idle_take(&idle, NULL, &how);
    look();
    struct tn_idle_slot *s = NULL;
    for (int i = 0; i < WORKERS && (s = tn_idle_busy_after(&idle, s)) != NULL; i++)
        assert(s == &slot[0] || s == &slot[1]);
    return case_end();
}

static void worker(int me)
{
    for (int i = 0; i < ROUNDS; i++) {
        tn_idle_list(&idle, &slot[me], TN_SLOT_PARKED);
        if (!tn_idle_withdraw(&idle, &slot[me]))
            tn_idle_search_end(&idle);
    }
}

static void *worker0(void *random)
{
    case_start(random);
    worker(0);
    return case_end();
}
static void check(void)
{
    look();
    assert(atomic_load_explicit(&hungry, memory_order_relaxed) == 0);

    /* In the order in which they became busy; a walk that stands at one who is idle by now ends. */
    struct tn_idle_slot *first = tn_idle_busy_after(&idle, NULL), *second = tn_idle_busy_after(&idle, first);
    assert(first != second && second != NULL && tn_idle_busy_after(&idle, second) == NULL);
    tn_idle_list(&idle, first, TN_SLOT_PARKED);
    assert(tn_idle_busy_after(&idle, NULL) == second);
    tn_idle_list(&idle, second, TN_SLOT_PARKED);
    assert(tn_idle_busy_after(&idle, NULL) == NULL && tn_idle_busy_after(&idle, second) == NULL);
    assert(tn_idle_withdraw(&idle, first) && tn_idle_withdraw(&idle, second));
    assert(tn_idle_busy_after(&idle, NULL) == first && tn_idle_busy_after(&idle, first) == second);
    tn_idle_leave(&idle, first);
    assert(tn_idle_busy_after(&idle, NULL) == second && atomic_load_explicit(&busy, memory_order_relaxed) == 1);
    tn_idle_leave(&idle, second);
    assert(idle.busy.head == NULL && idle.busy.tail == NULL);
}

CASE_MAIN(prepare_lists, check, waker, worker0)
