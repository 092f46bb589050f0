/* SPDX-License-Identifier: MIT
 *
 * The packet workload on plain threads, in two ways. `--mode pool`: handler threads take tasks from a bounded
 * queue under a mutex, as servers do. `--mode thread`: a thread for each packet, a bounded number at a time.
 *
 * Spawners are threads besides the `--workers` handlers, on the same processors. A spawner that finds the
 * queue full (or the greatest number of threads alive) counts one retry and sleeps until there is room.
 */
#include "packet_common.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK \
    65536 /* of a handler; the default of 8 MiB is only address space, but every byte of it is mapped anew \
           */

enum mode { POOL, THREAD };

static struct packet_run run;
static enum mode mode;
static unsigned workers, capacity;
static pthread_attr_t attr;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;

/* All under `lock`. In mode thread `filled` counts threads alive, and free_slots[0 … capacity - filled) are
 * theirs. */
static struct packet_task **queue;
static unsigned head, filled;
static bool closing;
static struct packet_slot **free_slots;

struct errand {
    struct packet_task *task;
    struct packet_slot *slot;
};

/* ---- pool ---- */

static void *handler(void *arg)
{
    if (bench_int(run.b, "pin"))
        bench_pin((unsigned)(uintptr_t)arg);
    for (;;) {
        pthread_mutex_lock(&lock);
        while (filled == 0 && !closing)
            pthread_cond_wait(&not_empty, &lock);
        if (filled == 0) {
            pthread_mutex_unlock(&lock);
            return NULL;
        }
        struct packet_task *task = queue[head];
        head = head + 1 == capacity ? 0 : head + 1;
        filled--;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&lock);
        packet_handle(&run, task, NULL);
    }
}

/* With the lock held: wait for room. */
static void wait_for_room(struct packet_spawner *s)
{
    while (filled == capacity) {
        s->retries++;
        pthread_cond_wait(&not_full, &lock);
    }
}

static void put(struct packet_spawner *s, struct packet_task *task)
{
    pthread_mutex_lock(&lock);
    wait_for_room(s);
    queue[(head + filled) % capacity] = task;
    filled++;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
}

/* ---- a thread a packet ---- */

static void *single(void *arg)
{
    struct errand errand = *(struct errand *)arg;
    free(arg);
    packet_handle(&run, errand.task, errand.slot);
    pthread_mutex_lock(&lock);
    filled--;
    free_slots[capacity - filled - 1] = errand.slot;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void start_thread(struct packet_spawner *s, struct packet_task *task)
{
    struct errand *errand = malloc(sizeof *errand);
    pthread_t thread;
    if (errand == NULL)
        bench_die(run.b, BENCH_INTERNAL, "no memory");
    pthread_mutex_lock(&lock);
    wait_for_room(s);
    errand->task = task;
    errand->slot = free_slots[capacity - filled - 1];
    filled++;
    pthread_mutex_unlock(&lock);
    int rc;
    while ((rc = pthread_create(&thread, &attr, single, errand)) == EAGAIN) {
        s->retries++;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    if (rc != 0)
        bench_die(run.b, BENCH_INTERNAL, "pthread_create: %s", strerror(rc));
}

/* ---- spawners and the monitor ---- */

static void *spawner(void *arg)
{
    struct packet_spawner *s = arg;
    for (uint64_t k = 0; k < s->share; k++) {
        uint64_t due = 0;
        if (run.rate != 0) {
            due = packet_due(&run, s, k);
            struct timespec until = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)};
            while (bench_now() < due)
                clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        }
        struct packet_task *task = packet_make(&run, s);
        task->start = due != 0 ? due : bench_stamp(run.clock);
        if (mode == POOL)
            put(s, task);
        else
            start_thread(s, task);
    }
    return NULL;
}

static void repetition(int rep)
{
    pthread_t *threads = calloc(run.spawners, sizeof *threads);
    if (threads == NULL)
        bench_die(run.b, BENCH_INTERNAL, "no memory");
    packet_begin(&run, rep);
    for (unsigned i = 0; i < run.spawners; i++)
        if (pthread_create(&threads[i], NULL, spawner, &run.spawner[i]) != 0)
            bench_die(run.b, BENCH_INTERNAL, "no thread for a spawner");
    for (unsigned i = 0; i < run.spawners; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    struct packet_watch watch = {0, 0};
    while (packet_done() != run.packets) {
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        packet_watch(&run, &watch);
    }
    for (bool idle = false; !idle;) { /* threads of mode thread give their slot back after they have counted */
        pthread_mutex_lock(&lock);
        idle = filled == 0;
        pthread_mutex_unlock(&lock);
    }
    packet_end(&run, rep);
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        PACKET_OPTIONS,
        {"capacity", BENCH_INT, "128", 1, 65536, NULL, "tasks", "bound of the queue; of threads alive", NULL, 0, 0,
         false},
        {"mode", BENCH_CHOICE, "pool", 0, 0, "pool|thread", "", "handlers with a queue, or a thread a packet", NULL,
         0, 0, false},
    };
    static struct bench b = {.program = "packet-pthread",
                             .about = PACKET_ABOUT " (threads of the operating system)",
                             .clock = PACKET_CLOCK,
                             .takes = BENCH_TAKES_RATE,
                             .own = own,
                             .n = sizeof own / sizeof *own};
    bench_start(&b, argc, argv);
    mode = (enum mode)bench_int(&b, "mode");
    workers = (unsigned)bench_int(&b, "workers");
    capacity = (unsigned)bench_int(&b, "capacity");
    char more[160];
    snprintf(more, sizeof more, "\"stack\": %d, \"guards\": \"one page each\", \"differs\": \"%s\"", STACK,
             mode == POOL ? "spawners are threads besides the workers" : "workers are processors; a thread a packet");
    bench_binary_peer(&b, "pthread", gnu_get_libc_version(), more);
    bench_confine(workers);
    packet_setup(&run, &b);

    queue = calloc(capacity, sizeof(*queue));
    free_slots = calloc(capacity, sizeof(*free_slots));
    pthread_t *pool = calloc(workers, sizeof *pool);
    if (queue == NULL || free_slots == NULL || pool == NULL)
        bench_die(&b, BENCH_INTERNAL, "no memory");
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    if (mode == THREAD) {
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        if (capacity > PACKET_SLOTS - 1)
            bench_die(&b, BENCH_USAGE, "--capacity %u is out of range with --mode thread: 1 to %d", capacity,
                      PACKET_SLOTS - 1);
        for (unsigned i = 0; i < capacity; i++)
            free_slots[i] = packet_slot_new();
    }
    for (unsigned i = 0; mode == POOL && i < workers; i++)
        if (pthread_create(&pool[i], &attr, handler, (void *)(uintptr_t)i) != 0)
            bench_die(&b, BENCH_INTERNAL, "no thread for a handler");
    for (int rep = 0; rep < bench_reps(&b); rep++)
        repetition(rep);
    pthread_mutex_lock(&lock);
    closing = true;
    pthread_cond_broadcast(&not_empty);
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; mode == POOL && i < workers; i++)
        pthread_join(pool[i], NULL);
    packet_finish(&run);
    int code = bench_finish(&b);
    free(pool);
    free(queue);
    free(free_slots);
    return code;
}
