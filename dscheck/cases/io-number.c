/* SPDX-License-Identifier: MIT */
/*
 * A number that is closed and given anew while somebody is about to call on it: the call is made on a file that has been looked
 * at, since one that nobody has looked at may block; or it is refused.
 */
#include "level-case.h"

static void *asks(void *random)
{
    enum io_kind kind;
    uint32_t generation;
    case_start(random);
    struct descriptor *d = descriptor_of(FD, TN_WAY_IN, &kind, &generation);
    if (tn_way_try(&d->in, generation)) {
        struct tn_claims claims = {NULL, NULL};
        assert(kind == IO_POLLED && !atomic_load_explicit(&blocks, memory_order_relaxed));
        tn_way_done(&d->in, generation, &claims);
        tn_claims_let_go(claims);
    }
    return case_end();
}

/* And has another file at once. */
static int is_closed(int fd)
{
    assert(fd == FD);
    atomic_store_explicit(&blocks, true, memory_order_relaxed);
    return 0;
}

static void *closes(void *random)
{
    case_start(random);
    io_close(FD, is_closed);
    assert(is_known());
    return case_end();
}

static void prepare(void)
{
    open_descriptor();
    atomic_init(&blocks, false);
}

static void known(void)
{
    assert(atomic_load_explicit(&the_descriptor->known, memory_order_relaxed) == known_as(IO_POLLED) &&
           !atomic_load_explicit(&blocks, memory_order_relaxed) && !the_descriptor->in.taken);
}

CASE_MAIN(prepare, known, asks, closes)
