/* SPDX-License-Identifier: MIT */
/*
 * POSIX and C11 threads for the code under test, made of the operations in ops.h on the words of its own objects: zero
 * bytes are what the static initialisers are.  threads.c: threads, once, keys; locks.c: mutexes, reader-writer locks;
 * sync.c: condition variables, barriers, semaphores.
 */
#ifndef INSTRUMENT_SYNC_H
#define INSTRUMENT_SYNC_H

#include "instrument.h"

#define IN_WORD 3 /* the size of those words, as a logarithm */
#define IN_ME   ((uint64_t)in_cur->id + 1)

/* A mutex: its owner + 1, a count of a recursive one, how often it has changed hands, and by whom it was taken last, and
 * the kind where glibc has it. */
struct in_mutex {
    uint64_t owner;
    uint32_t count;
    uint32_t hands : 24, last : 8;
    int kind;
};

int in_lock(struct in_mutex *m, unsigned op);
int in_unlock(struct in_mutex *m);

/* Makes an object as its static initialiser does. */
void in_fresh(void *object, size_t size);

#endif
