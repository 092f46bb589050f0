/* SPDX-License-Identifier: MIT
 *
 * Part of tenter_pthread.h: the names that it puts in the place of the system's.
 */
#ifndef TENTER_NAMES_H
#define TENTER_NAMES_H

#pragma GCC system_header /* a pair of clean-ups within another one shadows its object: no warning of the program's */

#undef PTHREAD_MUTEX_INITIALIZER
#undef PTHREAD_COND_INITIALIZER
#undef PTHREAD_RWLOCK_INITIALIZER
#undef PTHREAD_ONCE_INIT
#undef PTHREAD_BARRIER_SERIAL_THREAD
#undef ONCE_FLAG_INIT
#undef pthread_cleanup_push
#undef pthread_cleanup_pop

#define PTHREAD_MUTEX_INITIALIZER TN_MUTEX_INIT
#define PTHREAD_COND_INITIALIZER     \
    {                                \
        TN_COND_INIT, CLOCK_REALTIME \
    }
#define PTHREAD_RWLOCK_INITIALIZER    TN_RWLOCK_INIT(TN_RWLOCK_FAIR)
#define PTHREAD_ONCE_INIT             TN_ONCE_INIT
#define PTHREAD_BARRIER_SERIAL_THREAD TN_BARRIER_SERIAL
#define ONCE_FLAG_INIT                TN_ONCE_INIT

/* A pair in one block, as everywhere. */
#define pthread_cleanup_push(fn, arg)                \
    do {                                             \
        struct tn_pthread_cleanup tn_pthread_pushed; \
    tn_pthread_cleanup_push(&tn_pthread_pushed, fn, arg)
#define pthread_cleanup_pop(run)                            \
    tn_pthread_cleanup_pop(&tn_pthread_pushed, (run) != 0); \
    }                                                       \
    while (0)

#define pthread_t                   tn_pthread
#define pthread_attr_t              struct tn_attr
#define pthread_attr_init           tn_pthread_attr_init
#define pthread_attr_destroy        tn_pthread_attr_destroy
#define pthread_attr_setstacksize   tn_pthread_attr_setstacksize
#define pthread_attr_setdetachstate tn_pthread_attr_setdetachstate
#define pthread_create              tn_pthread_create
#define pthread_join                tn_pthread_join
#define pthread_detach              tn_pthread_detach
#define pthread_exit                tn_exit
#define pthread_self                tn_fibre_self
#define pthread_equal               tn_pthread_equal
#define sched_yield                 tn_pthread_yield
#define pthread_mutex_t             tn_mutex
#define pthread_mutexattr_t         struct tn_mutex_attr
#define pthread_mutexattr_init      tn_pthread_mutexattr_init
#define pthread_mutexattr_destroy   tn_pthread_mutexattr_destroy
#define pthread_mutexattr_settype   tn_pthread_mutexattr_settype
#define pthread_mutex_init          tn_mutex_init
#define pthread_mutex_destroy       tn_mutex_destroy
#define pthread_mutex_lock          tn_mutex_lock
#define pthread_mutex_trylock       tn_mutex_trylock
#define pthread_mutex_unlock        tn_mutex_unlock
#define pthread_mutex_timedlock     tn_pthread_mutex_timedlock
#define pthread_cond_t              tn_pthread_cond
#define pthread_condattr_t          clockid_t
#define pthread_condattr_init       tn_pthread_condattr_init
#define pthread_condattr_destroy    tn_pthread_condattr_destroy
#define pthread_condattr_setclock   tn_pthread_condattr_setclock
#define pthread_cond_init           tn_pthread_cond_init
#define pthread_cond_destroy        tn_pthread_cond_destroy
#define pthread_cond_wait           tn_pthread_cond_wait
#define pthread_cond_timedwait      tn_pthread_cond_timedwait
#define pthread_cond_signal         tn_pthread_cond_signal
#define pthread_cond_broadcast      tn_pthread_cond_broadcast
#define pthread_rwlock_t            tn_rwlock
#define pthread_rwlock_init         tn_pthread_rwlock_init
#define pthread_rwlock_destroy      tn_rwlock_destroy
#define pthread_rwlock_rdlock       tn_rwlock_rdlock
#define pthread_rwlock_tryrdlock    tn_rwlock_tryrdlock
#define pthread_rwlock_wrlock       tn_rwlock_wrlock
#define pthread_rwlock_trywrlock    tn_rwlock_trywrlock
#define pthread_rwlock_timedrdlock  tn_pthread_rwlock_timedrdlock
#define pthread_rwlock_timedwrlock  tn_pthread_rwlock_timedwrlock
#define pthread_rwlock_unlock       tn_rwlock_unlock
#define pthread_barrier_t           tn_barrier
#define pthread_barrier_init        tn_pthread_barrier_init
#define pthread_barrier_destroy     tn_barrier_destroy
#define pthread_barrier_wait        tn_barrier_wait
#define pthread_once_t              tn_once
#define pthread_once                tn_once_do
#define pthread_key_t               tn_pthread_key
#define pthread_key_create          tn_pthread_key_create
#define pthread_key_delete          tn_pthread_key_delete
#define pthread_setspecific         tn_pthread_setspecific
#define pthread_getspecific         tn_pthread_getspecific
#define sem_t                       tn_sem
#define sem_init                    tn_pthread_sem_init
#define sem_destroy                 tn_pthread_sem_destroy
#define sem_wait                    tn_pthread_sem_wait
#define sem_trywait                 tn_pthread_sem_trywait
#define sem_timedwait               tn_pthread_sem_timedwait
#define sem_post                    tn_pthread_sem_post
#define sem_getvalue                tn_pthread_sem_getvalue
#define thrd_t                      tn_pthread
#define thrd_create                 tn_c11_create
#define thrd_join                   tn_c11_join
#define thrd_detach                 tn_c11_detach
#define thrd_exit                   tn_c11_exit
#define thrd_current                tn_fibre_self
#define thrd_equal                  tn_pthread_equal
#define thrd_yield                  tn_yield
#define mtx_t                       tn_mutex
#define mtx_init                    tn_c11_mtx_init
#define mtx_destroy                 tn_c11_mtx_destroy
#define mtx_lock                    tn_c11_mtx_lock
#define mtx_trylock                 tn_c11_mtx_trylock
#define mtx_timedlock               tn_c11_mtx_timedlock
#define mtx_unlock                  tn_c11_mtx_unlock
#define cnd_t                       tn_pthread_cond
#define cnd_init                    tn_c11_cnd_init
#define cnd_destroy                 tn_c11_cnd_destroy
#define cnd_wait                    tn_c11_cnd_wait
#define cnd_timedwait               tn_c11_cnd_timedwait
#define cnd_signal                  tn_pthread_cond_signal
#define cnd_broadcast               tn_pthread_cond_broadcast
#define once_flag                   tn_once
#define call_once                   tn_c11_call_once
#define tss_t                       tn_pthread_key
#define tss_create                  tn_c11_tss_create
#define tss_delete                  tn_c11_tss_delete
#define tss_set                     tn_c11_tss_set
#define tss_get                     tn_pthread_getspecific

#endif
