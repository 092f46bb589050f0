/* SPDX-License-Identifier: MIT */
/* See jobs.h. */
#define _GNU_SOURCE
#include "jobs.h"

#include "checkpoint.h"
#include "watch.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct jobs_options jobs_options = {.processes = 1, .interval = 10};

enum { DONE_SHIFT = 52 }; /* the fixed point of `done` below */

static struct shared {
    pthread_mutex_t lock; /* of all that is not atomic; robust, since processes may be killed */
    sem_t news;           /* for who is hungry: there is a part, or the end has come */
    atomic_int hungry;    /* processes that have no work */
    atomic_int live;      /* that have; with the lock, but for who only looks */
    int unwritten;        /* that have not written their part of this checkpoint */
    atomic_int checkpoint, stop, bug, incomplete, lost;
    atomic_ullong executions, blocked, events, done; /* so far, of everybody */
    atomic_uint threads, conflicts;
    uint64_t ended_executions, ended_blocked, ended_events; /* of parts that are done, here or before we resumed */
    uint64_t resumed;                                       /* executions before we resumed */
    double seconds, last;                                   /* before this run; when the last checkpoint was begun */
    struct head head;                                       /* of the checkpoint under way */
    uint64_t written;                                       /* bytes of the parts in `parts_file` */
    unsigned parts;
    struct part part[PARTS_MAX];
    unsigned kept, untaken; /* parts to be taken, of the file that we resumed from or given; the first of them */
    struct part old[PARTS_MAX];
    uint64_t given;         /* bytes of the parts in `given_file` */
    bool final;             /* the checkpoint under way is the last one of this run */
    bool in_old[PARTS_MAX]; /* whether the checkpoint under way has that part as it was */
} * shared;

static uint8_t *seen;
static int parts_file = -1, given_file = -1;
static int checkpoint; /* the latest one that this process has written its part of, or had no part in */
static bool works = true, child;
static int unborn, children; /* of the first process: those that it has still to make, and those that it has */
static double began, shown;
static struct run_result told; /* what this process has added to the sums so far */
static double told_done;

double jobs_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double jobs_seconds(void)
{
    return shared->seconds + jobs_now() - began;
}

static void lock(void)
{
    if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&shared->lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&shared->lock);
}

/* ---- the sums ---- */

static void tell(void)
{
    struct run_result *r = &run_result;
    atomic_fetch_add(&shared->executions, r->executions - told.executions);
    atomic_fetch_add(&shared->blocked, r->blocked - told.blocked);
    atomic_fetch_add(&shared->events, r->events - told.events);
    double done = search_done();
    atomic_fetch_add(&shared->done, (unsigned long long)((done - told_done) * (double)(UINT64_C(1) << DONE_SHIFT)));
    told = *r;
    told_done = done;
    if (r->conflicts != 0)
        atomic_store(&shared->conflicts, 1);
    for (unsigned t = atomic_load(&shared->threads);
         t < r->threads && !atomic_compare_exchange_weak(&shared->threads, &t, r->threads);)
        ;
}

static double done(void)
{
    return (double)atomic_load(&shared->done) / (double)(UINT64_C(1) << DONE_SHIFT);
}

static void duration(char *text, size_t size, double s)
{
    if (s < 100)
        snprintf(text, size, "%.0f s", s);
    else if (s < 6000)
        snprintf(text, size, "%.0f min", s / 60);
    else
        snprintf(text, size, s < 360000 ? "%.0f h" : "more than %.0f h", s < 360000 ? s / 3600 : 100.0);
}

/* Knuth's estimate: each choice shares its part of the whole out among its branches; what is done says how much that
 * was. */
static void show(void)
{
    unsigned long long n = atomic_load(&shared->executions);
    double s = jobs_now() - began, part = done();
    fprintf(stderr, "\r\033[K%llu executions, %.0f a second, depth %u, %llu blocked", n,
            (double)(n - shared->resumed) / s, search_depth(), (unsigned long long)atomic_load(&shared->blocked));
    if (part > 0 && run_options.strategy == EXHAUSTIVE) {
        char left[64];
        duration(left, sizeof(left), jobs_seconds() * (1 - part) / part);
        fprintf(stderr, ", about %.3g in all, %s left", (double)n / part, part >= 1 ? "0 s" : left);
    } else if (run_options.budget != 0) {
        fprintf(stderr, " of %llu", (unsigned long long)run_options.budget);
    }
}

/* ---- the checkpoint ---- */

static void assemble(void)
{
    struct part all[PARTS_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < shared->kept; i++)
        if (shared->in_old[i])
            all[n++] = shared->old[i];
    if (n + shared->parts > PARTS_MAX)
        abort(); /* one left out would be lost work that nobody misses */
    for (unsigned i = 0; i < shared->parts; i++)
        all[n++] = shared->part[i];
    shared->head.parts = n;
    checkpoint_write(jobs_options.checkpoint, &shared->head, seen, all);
}

/* All that work write their parts, from now on.  With the lock. */
static void begin(void)
{
    struct head *h = &shared->head;
    head_init(h, jobs_options.options);
    h->executions = shared->ended_executions;
    h->blocked = shared->ended_blocked;
    h->events = shared->ended_events;
    h->seconds = jobs_seconds();
    h->done = done();
    h->conflicts = atomic_load(&shared->conflicts);
    h->threads = atomic_load(&shared->threads);
    shared->last = jobs_now();
    shared->written = 0;
    shared->parts = 0;
    shared->unwritten = shared->live;
    for (unsigned i = 0; i < shared->kept; i++)
        shared->in_old[i] = i >= shared->untaken;
    atomic_fetch_add(&shared->checkpoint, 1);
    if (shared->live == 0)
        assemble();
}

/* Appends what is still to be tried to a file in memory. */
static struct part put_part(int file, uint64_t *end)
{
    char *text = NULL;
    size_t size = 0;
    struct stream s = {open_memstream(&text, &size), false};
    if (s.file == NULL)
        abort();
    run_stream(&s);
    fclose(s.file);
    struct part p = {file, *end, size};
    for (size_t at = 0; at < size;) {
        ssize_t put = pwrite(file, text + at, size - at, (off_t)(p.at + at));
        if (put <= 0)
            abort();
        at += (size_t)put;
    }
    *end += size;
    free(text);
    return p;
}

/* This process's part of the checkpoint under way.  With the lock. */
static void write_part(bool ended)
{
    checkpoint = atomic_load(&shared->checkpoint);
    if (!ended) {
        if (shared->parts == PARTS_MAX)
            abort();
        shared->part[shared->parts++] = put_part(parts_file, &shared->written);
    }
    struct head *h = &shared->head;
    h->executions += run_result.executions;
    h->blocked += run_result.blocked;
    h->events += run_result.events;
    if (--shared->unwritten == 0)
        assemble();
}

static bool behind(void)
{
    return jobs_options.checkpoint != NULL && checkpoint != atomic_load(&shared->checkpoint);
}

static void checkpoint_tick(void)
{
    if (jobs_options.checkpoint == NULL || (!behind() && jobs_now() - shared->last < jobs_options.interval))
        return;
    lock();
    if (!behind() && !shared->final && shared->unwritten == 0 && jobs_now() - shared->last >= jobs_options.interval)
        begin();
    if (behind())
        write_part(false);
    unlock();
}

/* ---- the processes ---- */

static void stop_all(int how)
{
    int none = 0;
    atomic_compare_exchange_strong(&shared->stop, &none, how);
}

/* Whoever is not the first process would tell nobody of its end: the first one looks. */
static void look_after(void)
{
    if (run_interrupted == 1)
        stop_all(1);
    if (child)
        return;
    int status;
    while (children > 0 && waitpid(-1, &status, WNOHANG) > 0) {
        children--;
        if (status != 0) {
            atomic_store(&shared->lost, 1);
            stop_all(3);
        }
    }
    if (run_options.seconds > 0 && jobs_now() - began > run_options.seconds)
        stop_all(2);
    if (jobs_options.progress && jobs_now() - shown > 1) {
        if (shown > 0)
            show();
        shown = jobs_now();
    }
}

/* This process has nothing left to try, or leaves the rest to others.  With the lock. */
static void rest(void)
{
    struct run_result *r = &run_result;
    if (behind())
        write_part(true);
    shared->ended_executions += r->executions;
    shared->ended_blocked += r->blocked;
    shared->ended_events += r->events;
    r->executions = r->blocked = r->events = 0;
    told = *r;
    works = false;
    if (atomic_fetch_sub(&shared->live, 1) == 1)
        for (int i = 0; i < jobs_options.processes; i++)
            sem_post(&shared->news);
}

/* With the lock. */
static void take(void)
{
    struct part p = shared->old[shared->untaken++];
    char *text = malloc(p.size + 1);
    if (text == NULL || pread(p.file, text, p.size, (off_t)p.at) != (ssize_t)p.size)
        abort();
    struct stream s = {fmemopen(text, p.size, "r"), true};
    if (s.file == NULL)
        abort();
    run_stream(&s);
    fclose(s.file);
    free(text);
    told_done = search_done();                     /* what was done before has been told */
    checkpoint = atomic_load(&shared->checkpoint); /* the one under way has that part as it was, or in its giver's */
    works = true;
    atomic_fetch_add(&shared->live, 1);
}

bool run_more(void)
{
    enum { PATIENCE_MS = 20 }; /* until one looks after the others again */
    tell();
    lock();
    if (works)
        rest();
    unlock();
    atomic_fetch_add(&shared->hungry, 1);
    for (;;) {
        lock();
        bool any = shared->untaken < shared->kept && !atomic_load(&shared->stop);
        bool over = !any && (atomic_load(&shared->live) == 0 || atomic_load(&shared->stop));
        if (any)
            take();
        unlock();
        if (any || over) {
            atomic_fetch_sub(&shared->hungry, 1);
            return any;
        }
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += PATIENCE_MS * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        sem_clockwait(&shared->news, CLOCK_MONOTONIC, &until);
        look_after();
    }
}

/* Another process that is hungry. */
static void maybe_fork(void)
{
    enum { LEAST_MS = 10 }; /* it costs some milliseconds: there shall be more to do than that */
    static double last;
    if (last == 0)
        last = began;
    bool enough = search_splits() || shared->untaken < shared->kept;
    if (unborn == 0 || !enough || (jobs_now() - last) * 1e3 < LEAST_MS)
        return;
    fflush(stdout);
    tell();
    last = jobs_now();
    pid_t pid = fork();
    if (pid > 0) {
        unborn--;
        children++;
    }
    if (pid != 0)
        return;
    watch_start();
    child = true;
    works = false;
    unborn = 0;
    jobs_options.progress = false;
    run_result.executions = run_result.blocked = run_result.events = 0;
    told = run_result;
    search_clear();
}

/* Half of what is still to be tried, for who has nothing. */
static void maybe_give(void)
{
    int waiting = (int)(shared->kept - shared->untaken);
    if (!works || atomic_load(&shared->hungry) <= waiting || !search_splits())
        return;
    lock();
    if (shared->untaken == shared->kept && shared->unwritten == 0)
        shared->given = shared->untaken = shared->kept = 0;
    if (!behind() && !atomic_load(&shared->stop) && shared->kept < PARTS_MAX) {
        search_split(true);
        shared->in_old[shared->kept] = false; /* it is in this one's own */
        shared->old[shared->kept++] = put_part(given_file, &shared->given);
        search_split(false);
        sem_post(&shared->news);
    }
    unlock();
}

void run_tick(void)
{
    tell();
    look_after();
    if (run_options.budget != 0 && atomic_load(&shared->executions) - shared->resumed >= run_options.budget)
        stop_all(2);
    if (atomic_load(&shared->stop)) {
        run_interrupted = run_interrupted == 1 ? 1 : 2;
        return;
    }
    checkpoint_tick();
    maybe_fork();
    maybe_give();
}

/* ---- beginning and end ---- */

void jobs_init(void)
{
    began = jobs_now();
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    size_t code = (size_t)(in_object.text_end - in_object.base);
    seen = run_seen = mmap(NULL, code, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || seen == MAP_FAILED)
        exit(99);
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared->lock, &a);
    sem_init(&shared->news, 1, 0);
    unborn = run_options.strategy == EXHAUSTIVE ? jobs_options.processes - 1 : 0;
    shared->live = 1;
    shared->last = began;
    if (unborn > 0 && (given_file = memfd_create("given", MFD_CLOEXEC)) < 0)
        exit(99);
    if (jobs_options.checkpoint == NULL)
        return;
    parts_file = memfd_create("parts", MFD_CLOEXEC);
    if (parts_file < 0)
        exit(99);
    if (!jobs_options.resume)
        return;
    struct head h;
    head_init(&h, jobs_options.options);
    checkpoint_read(jobs_options.checkpoint, &h, seen, shared->old);
    shared->kept = (unsigned)h.parts;
    shared->seconds = h.seconds;
    shared->resumed = shared->ended_executions = h.executions;
    shared->ended_blocked = h.blocked;
    shared->ended_events = h.events;
    atomic_store(&shared->executions, h.executions);
    atomic_store(&shared->blocked, h.blocked);
    atomic_store(&shared->events, h.events);
    atomic_store(&shared->done, (unsigned long long)(h.done * (double)(UINT64_C(1) << DONE_SHIFT)));
    atomic_store(&shared->threads, (unsigned)h.threads);
    atomic_store(&shared->conflicts, (unsigned)h.conflicts);
    run_options.resume = true;
}

bool jobs_first(void)
{
    bool first = atomic_exchange(&shared->bug, run_result.unsupported ? 2 : 1) == 0;
    atomic_store(&shared->stop, 3);
    return first;
}

bool jobs_lost(void)
{
    return atomic_load(&shared->lost) != 0;
}

static bool stopped_to_go_on(void)
{
    int how = atomic_load(&shared->stop);
    return how == 1 || how == 2;
}

/* Nobody has work any more, or all leave it. */
static void await_others(void)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR;)
        if (pid > 0 && status != 0)
            atomic_store(&shared->lost, 1);
}

void jobs_end(void)
{
    struct run_result *r = &run_result;
    tell();
    if (r->incomplete && run_interrupted != 2)
        stop_all(run_interrupted == 1 ? 1 : 2);
    lock();
    if (works && r->incomplete && stopped_to_go_on() && jobs_options.checkpoint != NULL) {
        if (!shared->final) {
            shared->final = true;
            begin();
        }
        if (behind())
            write_part(false);
    }
    if (r->incomplete)
        atomic_store(&shared->incomplete, 1);
    if (works)
        rest();
    unlock();
    if (child)
        _exit(0);
    await_others();
    if (jobs_options.checkpoint != NULL && !shared->final && atomic_load(&shared->bug) == 0 && !jobs_lost())
        begin(); /* nobody is left: the end of it */
    if (jobs_options.progress && jobs_now() - began > 1)
        fprintf(stderr, "\r\033[K");
    r->executions = atomic_load(&shared->executions);
    r->blocked = atomic_load(&shared->blocked);
    r->events = atomic_load(&shared->events);
    r->threads = atomic_load(&shared->threads);
    r->conflicts = atomic_load(&shared->conflicts);
    r->bug = atomic_load(&shared->bug) == 1;
    r->unsupported = atomic_load(&shared->bug) == 2;
    r->incomplete = atomic_load(&shared->incomplete) != 0 || jobs_lost() || shared->untaken < shared->kept;
}
