/* SPDX-License-Identifier: MIT */
/*
 * A number that is closed and given anew while a call of another runtime is about to claim it for its fibres: it is the next
 * owner's to claim, whenever the first call goes on.
 */
#include "level-case.h"

static char runtimes[2];

static bool owns(int which, uint32_t generation)
{
    return descriptor_owned(the_descriptor, TN_WAY_IN, generation, (struct runtime *)(void *)&runtimes[which]);
}

static uint32_t found(void)
{
    enum io_kind kind;
    uint32_t generation;
    assert(descriptor_of(FD, TN_WAY_IN, &kind, &generation) == the_descriptor && kind == IO_POLLED);
    return generation;
}

static void *stalls(void *random)
{
    case_start(random);
    owns(0, 0); /* as it has found it before */
    return case_end();
}

static int is_closed(int fd)
{
    assert(fd == FD);
    return 0;
}

static void *next_owner(void *random)
{
    case_start(random);
    io_close(FD, is_closed);
    io_fresh(FD, -1, 0);
    assert(owns(1, found()));
    return case_end();
}

static void check(void)
{
    assert(owns(1, found()));
}

CASE_MAIN(open_descriptor, check, stalls, next_owner)
