/* SPDX-License-Identifier: MIT
 *
 * The packet workload on Tenter (003 §2.4.1, §7.1): a fibre for each packet.
 *
 * The local queue is bounded (--capacity) and refuses what does not fit (knob full=refuse): the spawner then
 * counts a retry and tries again. In between it yields (--full yield), so that its own worker takes part in
 * the work, or only draws breath (--full spin), as the source work's does; the latter needs a worker that no
 * spawner can hold.
 */
#include "bench_tenter.h"
#include "packet_common.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct packet_run run;
static bool spin;

static void *handle(void *task)
{
    packet_handle(&run, task, NULL);
    return NULL;
}

/* Give way until a packet is due: asleep while that is far off, else among the others. */
static void wait_until(uint64_t due)
{
    for (uint64_t now; (now = tn_now()) < due;) {
        if (due - now > 100000)
            tn_sleep_until(due - 50000, NULL);
        else
            tn_yield();
    }
}

static void *spawner(void *arg)
{
    struct packet_spawner *s = arg;
    for (uint64_t k = 0; k < s->share; k++) {
        uint64_t due = 0;
        if (run.rate != 0) {
            due = packet_due(&run, s, k);
            wait_until(due);
        }
        struct packet_task *task = packet_make(&run, s);
        task->start = due != 0 ? due : bench_stamp(run.clock);
        int rc;
        while ((rc = tn_spawn(NULL, NULL, handle, task)) == EAGAIN) {
            s->retries++;
            if (spin)
                bench_relax();
            else
                tn_yield();
        }
        if (rc != 0)
            bench_die(run.b, BENCH_INTERNAL, "tn_spawn: %s", strerror(rc));
    }
    return NULL;
}

static void repetition(int rep)
{
    tn_fibre **fibres = calloc(run.spawners, sizeof(*fibres));
    if (fibres == NULL)
        bench_die(run.b, BENCH_INTERNAL, "no memory");
    packet_begin(&run, rep);
    for (unsigned i = 0; i < run.spawners; i++) {
        int rc;
        while ((rc = tn_spawn(&fibres[i], NULL, spawner, &run.spawner[i])) == EAGAIN)
            tn_yield();
        if (rc != 0)
            bench_die(run.b, BENCH_INTERNAL, "tn_spawn: %s", strerror(rc));
    }
    for (unsigned i = 0; i < run.spawners; i++)
        tn_join(fibres[i], NULL);
    free(fibres);
    struct packet_watch watch = {0, 0};
    for (unsigned idle = 0; packet_done() != run.packets;) {
        if (++idle < 64) {
            tn_yield();
        } else {
            idle = 0;
            tn_sleep(20000);
            packet_watch(&run, &watch);
        }
    }
    packet_end(&run, rep);
}

static void *all(void *arg)
{
    (void)arg;
    int warmup = (int)bench_int(run.b, "warmup");
    for (int rep = 0; rep < bench_reps(run.b); rep++) {
        if (rep == warmup)
            bench_tenter_counters_start();
        repetition(rep);
    }
    bench_tenter_counters_stop(run.b);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct bench_option own[] = {
        PACKET_OPTIONS,
        {"capacity", BENCH_INT, "128", 0, 65536, NULL, "fibres",
         "bound of a local queue, which then refuses (adds capacity=N:full=refuse to --scheduler); 0, and any "
         "value where the module has no bound: adds nothing",
         NULL, 0, 0, false},
        {"full", BENCH_CHOICE, "yield", 0, 0, "yield|spin", "", "what a refused spawner does before it tries again",
         NULL, 0, 0, false},
    };
    static struct bench b = {.program = "packet",
                             .about = PACKET_ABOUT,
                             .clock = PACKET_CLOCK,
                             .takes = BENCH_TAKES_RATE | BENCH_TAKES_SCHEDULER,
                             .own = own,
                             .n = sizeof own / sizeof *own};
    char knobs[64] = "";
    bench_start(&b, argc, argv);
    bool named = bench_tenter_names(&b, "capacity");
    if (named && bench_given(&b, "capacity"))
        bench_die(&b, BENCH_USAGE, "--capacity and --scheduler both set the knob capacity");
    if (named || !bench_tenter_has(&b, "capacity"))
        bench_set_int(&b, "capacity", 0); /* what the record then says */
    spin = bench_int(&b, "full") == 1;
    if (spin && bench_int(&b, "workers") <= bench_int(&b, "spawners"))
        bench_die(&b, BENCH_USAGE, "--full spin needs more workers than spawners: these would hold every worker");
    if (bench_int(&b, "capacity") != 0)
        snprintf(knobs, sizeof knobs, ":capacity=%d", (int)bench_int(&b, "capacity"));
    if ((named || bench_int(&b, "capacity") != 0) && !bench_tenter_names(&b, "full"))
        strcat(knobs, ":full=refuse");
    packet_setup(&run, &b);
    bench_tenter_run(&b, knobs, all, NULL);
    packet_finish(&run);
    return bench_finish(&b);
}
