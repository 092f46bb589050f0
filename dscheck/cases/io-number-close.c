/* SPDX-License-Identifier: MIT */
/*
 * A number is closed, and whoever had it next closes it too before the first one's close has returned: what the third one's is
 * known as stays. Somebody who asks meanwhile is told of a file, or of none.
 */
#include "level-case.h"

static _Atomic(unsigned) closed; /* so often. relaxed: see kernel */

static int is_closed(int fd)
{
    assert(fd == FD);
    atomic_fetch_add_explicit(&closed, 1, memory_order_relaxed);
    return 0;
}

static void *closes(void *random)
{
    case_start(random);
    io_close(FD, is_closed);
    return case_end();
}

static void *closes_next(void *random)
{
    unsigned spins = 0;
    case_start(random);
    while (atomic_load_explicit(&closed, memory_order_relaxed) == 0)
        tn_spin_wait(&spins); /* it has the number from here on, without a word */
    io_close(FD, is_closed);
    io_fresh(FD, -1, 0);
    assert(descriptor_look(the_descriptor, FD) == IO_POLLED);
    return case_end();
}

static void *looks(void *random)
{
    case_start(random);
    assert(descriptor_look(the_descriptor, FD) == IO_POLLED);
    return case_end();
}

static void prepare(void)
{
    open_descriptor();
    atomic_init(&closed, 0);
}

static void known(void)
{
    assert(atomic_load_explicit(&the_descriptor->known, memory_order_relaxed) == known_as(IO_POLLED));
}

CASE_MAIN(prepare, known, closes, closes_next, looks)
