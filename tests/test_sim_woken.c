/* SPDX-License-Identifier: MIT
 *
 * Who is woken, and where, on two cores of sim_two_victim.yaml, whose costs one adds up by hand.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "sim_probe.h"

static void *is_woken(void *arg)
{
    probe_expect(2700, "a thread starts on a core that is free");
    probe_sleep();
    probe_expect(17520, "woken at 15500, it runs 2000 later, and 20 for the change");
    if (sched_getcpu() != 0)
        probe_expect(0, "it runs where its waker ran, since no core was free");
    probe_sleep(); /* from 17529: 1000 */
    probe_expect(21620, "it waits for as long as its waker may keep the core");
    return arg;
}

static void *hogs(void *arg)
{
    probe_until(60000);
    probe_expect(60060, "who has woken nobody keeps its core, and is interrupted by a heavy fence");
    if (probe_kernel() != 60)
        probe_expect(0, "which counts as the kernel's time");
    return arg;
}

int main(void)
{
    static const struct timespec half_us = {0, 500};
    pthread_t t, hog;
    pthread_create(&t, NULL, is_woken, NULL);
    probe_until(5000); /* it sleeps, and its core is another one's */
    pthread_create(&hog, NULL, hogs, NULL);
    probe_until(15000);
    probe_wake();
    probe_expect(18549,
                 "who has had the core for more than the granularity has lost it as long as the woken one ran");
    probe_until(19000);
    probe_wake();
    probe_expect(19500, "to wake somebody, the call included");
    probe_until(21549);
    probe_expect(21549, "a thread keeps its core for the granularity, here 3000");
    probe_until(21600);
    probe_expect(22640, "and not longer");
    probe_heavy();
    pthread_join(t, NULL);
    pthread_join(hog, NULL);
    probe_until(70000);
    probe_wake();
    probe_expect(70070, "to wake nobody is no more than a call");
    probe_until(80000);
    nanosleep(&half_us, NULL); /* to sleep 1000, from the waking to running 2000 */
    probe_expect(84400, "a sleep of 500 ends 900 late");
    return probe_failures();
}
