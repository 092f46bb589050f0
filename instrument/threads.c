/* SPDX-License-Identifier: MIT */
/* Threads, once, keys: see sync.h. */
#define _GNU_SOURCE
#include "sync.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <threads.h>

enum { KEYS = 64 };
static void *values[IN_THREADS][KEYS];
static void (*destructor[KEYS])(void *);
static bool used; /* any keys, in this execution */

/* A word of the library itself, put back with the rest. */
static uint64_t *keys_made(void)
{
    return (uint64_t *)(in_thread[IN_THREADS - 1].low - 128);
}

void in_keys_reset(void)
{
    if (!used)
        return;
    used = false;
    memset(values, 0, sizeof(values));
    *keys_made() = 0;
}

const char *in_keys_of(unsigned thread, size_t *size)
{
    *size = sizeof(values[thread]);
    return (const char *)values[thread];
}

/* ---- threads ---- */

int ex_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int ex_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    IN_CALL();
    uint64_t id = IN_OP(OP_CREATE, IN_WORD, fn, arg, 0);
    int state = PTHREAD_CREATE_JOINABLE;
    if (attr != NULL)
        pthread_attr_getdetachstate(attr, &state);
    in_thread[id].detached = state == PTHREAD_CREATE_DETACHED;
    in_plain(t, sizeof(*t), true, in_cur->pc);
    *t = id + 1;
    return 0;
}

static struct in_thread *thread_of(pthread_t t, const char *what)
{
    struct in_thread *to = t >= 1 && t <= IN_THREADS ? &in_thread[t - 1] : NULL;
    if (to == NULL || !to->alive)
        in_bug("misuse", "%s of what is no thread", what);
    if (to->joined)
        in_bug("misuse", "%s of a thread that has been joined", what);
    if (to->detached)
        in_bug("misuse", "%s of a thread that is detached", what);
    return to;
}

int ex_pthread_join(pthread_t t, void **result);
int ex_pthread_join(pthread_t t, void **result)
{
    IN_CALL();
    struct in_thread *to = thread_of(t, "join");
    if (to == in_cur)
        in_bug("misuse", "a thread joins itself");
    IN_OP(OP_JOIN, IN_WORD, 0, to->id, 0);
    if (result != NULL) {
        in_plain(result, sizeof(*result), true, in_cur->pc);
        *result = to->result;
    }
    return 0;
}

int ex_pthread_detach(pthread_t t);
int ex_pthread_detach(pthread_t t)
{
    IN_CALL();
    thread_of(t, "detach")->detached = true;
    return 0;
}

pthread_t ex_pthread_self(void);
pthread_t ex_pthread_self(void)
{
    return IN_ME;
}

int ex_pthread_equal(pthread_t a, pthread_t b);
int ex_pthread_equal(pthread_t a, pthread_t b)
{
    return a == b;
}

void in_thread_done(void)
{
    void **mine = values[in_cur->id];
    if (!used)
        return;
    for (int round = 0, again = 1; again != 0 && round < PTHREAD_DESTRUCTOR_ITERATIONS; round++) {
        again = 0;
        for (unsigned k = 0; k < KEYS && k < *keys_made(); k++) {
            void *value = mine[k];
            mine[k] = NULL;
            if (value != NULL && destructor[k] != NULL) {
                destructor[k](value);
                again = 1;
            }
        }
    }
}

_Noreturn void ex_pthread_exit(void *result);
_Noreturn void ex_pthread_exit(void *result)
{
    IN_CALL();
    in_cur->result = result;
    in_thread_done();
    in_op(0, 0, 0, 0, 0, OP_END * 8);
    __builtin_unreachable();
}

/* ---- once, keys ---- */

int ex_pthread_once(int *once, void (*fn)(void));
int ex_pthread_once(int *once, void (*fn)(void))
{
    IN_CALL();
    uint64_t was = IN_OP(OP_CAS_VAL, 2, once, 0, 1);
    if (was == 0) {
        fn();
        IN_OP(OP_STORE, 2, once, 2, 0);
    } else if (was == 1) {
        IN_OP(OP_AWAIT_OVER, 2, once, 1, 0);
    }
    return 0;
}

int ex_pthread_key_create(pthread_key_t *key, void (*fn)(void *));
int ex_pthread_key_create(pthread_key_t *key, void (*fn)(void *))
{
    IN_CALL();
    used = true;
    uint64_t k = IN_OP(OP_ADD, IN_WORD, keys_made(), 1, 0);
    if (k >= KEYS)
        in_bug("unsupported", "more than %d keys, counting those that were deleted", KEYS);
    destructor[k] = fn;
    in_plain(key, sizeof(*key), true, in_cur->pc);
    *key = (pthread_key_t)k;
    return 0;
}

int ex_pthread_key_delete(pthread_key_t key);
int ex_pthread_key_delete(pthread_key_t key)
{
    IN_CALL();
    destructor[key % KEYS] = NULL;
    return 0;
}

int ex_pthread_setspecific(pthread_key_t key, const void *value);
int ex_pthread_setspecific(pthread_key_t key, const void *value)
{
    IN_CALL();
    if (key >= *keys_made())
        in_bug("misuse", "pthread_setspecific with a key that was not created");
    values[in_cur->id][key] = (void *)value;
    return 0;
}

void *ex_pthread_getspecific(pthread_key_t key);
void *ex_pthread_getspecific(pthread_key_t key)
{
    return key < KEYS ? values[in_cur->id][key] : NULL;
}

/* ---- C11: the same under other names ---- */

int ex_thrd_create(thrd_t *t, thrd_start_t fn, void *arg);
int ex_thrd_create(thrd_t *t, thrd_start_t fn, void *arg)
{
    union {
        thrd_start_t from;
        void *(*to)(void *); /* the result is the low half of a register either way */
    } as = {fn};
    IN_CALL();
    uint64_t id = IN_OP(OP_CREATE, IN_WORD, as.to, arg, 0);
    in_plain(t, sizeof(*t), true, in_cur->pc);
    *t = id + 1;
    return thrd_success;
}

int ex_thrd_join(thrd_t t, int *result);
int ex_thrd_join(thrd_t t, int *result)
{
    IN_CALL();
    struct in_thread *to = thread_of(t, "join");
    if (to == in_cur)
        in_bug("misuse", "a thread joins itself");
    IN_OP(OP_JOIN, IN_WORD, 0, to->id, 0);
    if (result != NULL) {
        in_plain(result, sizeof(*result), true, in_cur->pc);
        *result = (int)(intptr_t)to->result;
    }
    return thrd_success;
}
