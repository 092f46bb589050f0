/* SPDX-License-Identifier: MIT */
/* Spin locks of POSIX threads: one int, which a mutex would not fit into: its owner + 1. */
#include "sync.h"

#include <errno.h>
#include <pthread.h>

enum { INT = 2 };

int ex_pthread_spin_init(pthread_spinlock_t *s, int shared);
int ex_pthread_spin_init(pthread_spinlock_t *s, int shared)
{
    (void)shared;
    IN_CALL();
    in_fresh((void *)s, sizeof(*s));
    return 0;
}

int ex_pthread_spin_destroy(pthread_spinlock_t *s);
int ex_pthread_spin_destroy(pthread_spinlock_t *s)
{
    IN_CALL();
    if (*s != 0)
        in_bug("misuse", "a spin lock is destroyed while it is held");
    in_plain((void *)s, sizeof(*s), true, in_cur->pc);
    return 0;
}

int ex_pthread_spin_lock(pthread_spinlock_t *s);
int ex_pthread_spin_lock(pthread_spinlock_t *s)
{
    IN_CALL();
    if ((uint64_t)*s == IN_ME)
        in_bug("deadlock", "a thread locks a spin lock that it holds already");
    IN_OP(OP_LOCK, INT, s, IN_ME, 0);
    return 0;
}

int ex_pthread_spin_trylock(pthread_spinlock_t *s);
int ex_pthread_spin_trylock(pthread_spinlock_t *s)
{
    IN_CALL();
    return IN_OP(OP_TRYLOCK, INT, s, IN_ME, 0) != 0 ? 0 : EBUSY;
}

int ex_pthread_spin_unlock(pthread_spinlock_t *s);
int ex_pthread_spin_unlock(pthread_spinlock_t *s)
{
    IN_CALL();
    if ((uint64_t)*s != IN_ME)
        in_bug("misuse", *s == 0 ? "unlock of a spin lock that nobody holds"
                                 : "unlock of a spin lock that another thread holds");
    IN_OP(OP_STORE, INT, s, 0, 0);
    return 0;
}
