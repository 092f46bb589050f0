/* SPDX-License-Identifier: MIT
 *
 * Between the vector of descriptors (descriptors.c) and the calls on them (io.c).
 */
#ifndef TN_IO_DESCRIPTORS_H
#define TN_IO_DESCRIPTORS_H

#include "ahead.h"
#include "io.h"

struct descriptor {
    struct tn_way way[TN_WAYS];
    struct tn_tokenlock lock; /* over becoming known, being armed, being closed; its process is that of all of it */
    _Atomic(uint32_t) known;  /* written under the lock: IO_KINDS * tn_process() + an io_kind */
    _Atomic(struct runtime *) owner; /* whose fibres may wait; NULL: nobody's has yet */
    struct tn_ahead ahead;           /* of TN_WAY_IN */
    _Atomic(void *) armed; /* written under the lock: where a poller tells events of it (arm); NULL: none does */
    unsigned told;         /* under the lock: in which ways, if it does */
};

/* NULL, with errno: there is no such descriptor, or no memory. */
struct descriptor *descriptor_of(int fd, enum io_kind *kind);

/* Is it known to be a file? It stays one until it is closed. */
bool descriptor_is_file(struct descriptor *d);

/* By a fibre: from here on its runtime's events reach the descriptor. An errno value. */
int descriptor_arm(struct descriptor *d, int fd, unsigned way, uint32_t generation);

/* After a call that did not wait: so too, if it is a fibre's whose poller is not lazy. What goes wrong is told to who has to
 * wait. */
void descriptor_arm_early(struct descriptor *d, int fd, unsigned way, uint32_t generation);

static inline bool descriptor_armed(struct descriptor *d)
{
    return atomic_load_explicit(&d->armed, memory_order_relaxed) != NULL; /* relaxed: a hint, if not for who arms */
}

/* What the cluster's poller has done around calls. */
static inline unsigned poller_calls(const struct cluster *cl)
{
    return binding_poller->calls != NULL ? binding_poller->calls(cl->poller) : 0;
}

/* Do the fibres of rt wait for it, and no other's? */
bool descriptor_owned(struct descriptor *d, struct runtime *rt);

#endif
