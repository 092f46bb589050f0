/* SPDX-License-Identifier: MIT */
/*
 * What a program can say to `./tenter check`.  Nothing of it is needed: ordinary C11 programs are explored as they are.
 *
 * The same program compiled without the checker (any C11 compiler, no library, -pthread) is one run of it, of whatever
 * interleaving the machine happens to produce: each function says what it does then.  The checker defines __DSCHECK__.
 */
#ifndef DSCHECK_H
#define DSCHECK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define DSCHECK_THREADS 14 /* the checker's 15, less main's */

/*
 * A program in its usual form.  Members may be left out.  set_up runs alone; then all of threads, at once; when they have
 * ended, final, alone.  invariant must hold from the end of set_up to the beginning of final: see dscheck_invariant().
 * A function may be named several times.
 *
 *     DSCHECK_MAIN(.set_up = fill, .threads = {push, pop, pop}, .invariant = ordered, .final = all_there)
 */
struct dscheck_program {
    void (*set_up)(void);
    void (*threads[DSCHECK_THREADS])(void);
    void (*final)(void);
    bool (*invariant)(void);
};
#define DSCHECK_MAIN(...)                                             \
    int main(void)                                                    \
    {                                                                 \
        static const struct dscheck_program program_ = {__VA_ARGS__}; \
        return dscheck_run(&program_);                                \
    }

/* Gives an object a name for traces, 31 characters of it; static variables have theirs without. */
#define DSCHECK_NAME(object) dscheck_name(&(object), #object)

#ifdef __DSCHECK__

/*
 * Executions in which this is not true are of no interest: the thread goes no further, and they count neither as good nor
 * as bad.  Others go on, and what goes wrong there is told: it could have come before this was asked.
 */
void dscheck_assume(int condition);
/* A number from 0 to n - 1, each of them in turn; 1 ≤ n ≤ 255. */
int dscheck_choose(int n);
void dscheck_name(const volatile void *at, const char *name);
/*
 * From here on `holds` must be true in every state that some interleaving passes through, also between two operations of
 * other threads.  It may read atomics, as many as it likes, and plain variables that no longer change; it must write
 * nothing and call nothing that does.  An invariant holds until the end of the execution.
 */
void dscheck_invariant(bool (*holds)(void));
/* No more invariants: what comes may break them. */
void dscheck_invariant_end(void);

#else

#include <assert.h>
#include <stdlib.h>
#include <time.h>

/* Without the checker: ends the process, as a success. */
static inline void dscheck_assume(int condition)
{
    if (!condition)
        _Exit(0);
}

/* Without the checker: by chance, other ones in each run. */
static inline int dscheck_choose(int n)
{
#ifdef __cplusplus
    static thread_local uint64_t state;
#else
    static _Thread_local uint64_t state;
#endif
    if (state == 0) {
        struct timespec t;
        timespec_get(&t, TIME_UTC);
        state = (uint64_t)t.tv_nsec * 2654435761U + (uint64_t)(uintptr_t)&state;
    }
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((state >> 33) % (uint64_t)n);
}

/* Without the checker: nothing. */
static inline void dscheck_name(const volatile void *at, const char *name)
{
    (void)at;
    (void)name;
}

/* Without the checker: must hold now. */
static inline void dscheck_invariant(bool (*holds)(void))
{
    assert(holds());
}

static inline void dscheck_invariant_end(void)
{
}

#endif

static inline void *dscheck_thread(void *thread)
{
    (*(void (*const *)(void))thread)();
    return NULL;
}

/* What DSCHECK_MAIN() calls.  Without the checker the invariant must hold before the threads begin, and when they have
 * ended. */
static inline int dscheck_run(const struct dscheck_program *p)
{
    pthread_t thread[DSCHECK_THREADS];
    int n = 0;
    if (p->set_up)
        p->set_up();
    if (p->invariant)
        dscheck_invariant(p->invariant);
    for (; n < DSCHECK_THREADS && p->threads[n]; n++)
        if (pthread_create(&thread[n], NULL, dscheck_thread, (void *)(uintptr_t)&p->threads[n]) != 0)
            return 1;
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
#ifdef __DSCHECK__
    dscheck_invariant_end();
#else
    if (p->invariant)
        dscheck_invariant(p->invariant);
#endif
    if (p->final)
        p->final();
    return 0;
}

#endif
