/* SPDX-License-Identifier: MIT
 *
 * Stopping threads to look at them: who asks, and the handler of the signal that it sends. No signal is sent in here, so that
 * the explorer takes this file as it is.
 *
 *   asker:    list stands there, signals  | until each has stopped, or will not | looks | list goes | nobody inside any more
 *   handler:  inside                      | am I on the list?  -> says where, stops until told to go | not inside
 *
 * A signal may come so late that its list is gone. Either the handler finds none, or the asker finds it inside and waits:
 * so the list stays as long as somebody walks it.
 */
#ifndef TN_STOPPING_H
#define TN_STOPPING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "platform.h"

struct tn_stopping {
    _Atomic(struct tn_stopped *) list;
    _Atomic(unsigned) inside; /* handlers that may hold what they have read there */
};

/* By the asker, before it sends the signals. */
static inline void tn_stopping_ask(struct tn_stopping *g, struct tn_stopped *list)
{
    for (struct tn_stopped *s = list; s != NULL; s = s->next)
        atomic_store_explicit(&s->state, TN_STOP_ASKED, memory_order_relaxed); /* relaxed: ST1 publishes it */
    atomic_store_explicit(&g->list, list, memory_order_release);               /* ST1 release */
}

/* By the handler on thread `self`, which was at `where`. */
static inline void tn_stopping_answer(struct tn_stopping *g, uint32_t self, struct tn_where where)
{
    /* ST2 seq_cst, both: either the list is gone, or who takes it away sees us */
    atomic_fetch_add_explicit(&g->inside, 1, memory_order_seq_cst);
    /* ST2; ST1 acquire: the list */
    struct tn_stopped *s = atomic_load_explicit(&g->list, memory_order_seq_cst);
    while (s != NULL && s->thread != self)
        s = s->next;
    if (s != NULL) {
        uint32_t asked = TN_STOP_ASKED;
        s->where = where;
        /* ST0 release: where; relaxed: too late, nothing is read */
        if (atomic_compare_exchange_strong_explicit(&s->state, &asked, TN_STOPPED, memory_order_release,
                                                    memory_order_relaxed)) {
            tn_unpark(&s->state, 1);
            while (atomic_load_explicit(&s->state, memory_order_relaxed) == TN_STOPPED) /* relaxed: it only goes on */
                tn_park(&s->state, TN_STOPPED, UINT64_MAX);
        }
    }
    atomic_fetch_sub_explicit(&g->inside, 1, memory_order_release); /* ST2 release: our last look at the list */
}

/* By the asker: until each has stopped, or will not stop any more. */
static inline void tn_stopping_await(struct tn_stopped *list, tn_time until)
{
    for (struct tn_stopped *s = list; s != NULL; s = s->next) {
        uint32_t asked;
        while ((asked = atomic_load_explicit(&s->state, memory_order_acquire)) == TN_STOP_ASKED && /* ST0 acquire */
               tn_now() < until)
            tn_park(&s->state, TN_STOP_ASKED, until);
        if (asked == TN_STOP_ASKED) /* ST0 acquire: it may stop at the last moment */
            atomic_compare_exchange_strong_explicit(&s->state, &asked, TN_STOP_NO, memory_order_acquire,
                                                    memory_order_acquire);
    }
}

/* By the asker: all go on, and nobody touches the list any more. */
static inline void tn_stopping_over(struct tn_stopping *g, struct tn_stopped *list)
{
    atomic_store_explicit(&g->list, NULL, memory_order_seq_cst); /* ST2 */
    for (struct tn_stopped *s = list; s != NULL;) {
        struct tn_stopped *next = s->next;
        atomic_store_explicit(&s->state, TN_STOP_NO, memory_order_relaxed); /* relaxed: it reads nothing of ours */
        tn_unpark(&s->state, 1);
        s = next;
    }
    /* Until nobody walks the list, which the next dump changes and whose runtimes may end. ST2 seq_cst */
    for (unsigned spins = 0; atomic_load_explicit(&g->inside, memory_order_seq_cst) != 0;)
        tn_spin_wait(&spins);
}

#endif
