/* SPDX-License-Identifier: MIT
 *
 * For tests/scripts/instructions.py: one worker, so many operations of one kind, and nothing else.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tenter.h>

#include "timer_wheel.h"

static uint64_t ops;

static void *yielder(void *arg)
{
    for (uint64_t i = 0; i < ops / 2; i++)
        tn_yield();
    return arg;
}

static void *nothing(void *arg)
{
    return arg;
}

static void *yield_two(void *arg)
{
    tn_fibre *f[2];
    for (int i = 0; i < 2; i++)
        if (tn_spawn(&f[i], NULL, yielder, arg) != 0)
            abort();
    for (int i = 0; i < 2; i++)
        tn_join(f[i], NULL);
    return arg;
}

static void *spawn_join(void *arg)
{
    tn_fibre *f;
    for (uint64_t i = 0; i < ops; i++)
        if (tn_spawn(&f, NULL, nothing, arg) != 0 || tn_join(f, NULL) != 0)
            abort();
    return arg;
}

/* Two fibres that wait for each other: an operation is a wait with its wake-up, with a deadline that never comes or
 * without one. */
static tn_waiter waiter[2];
static tn_time deadline = TN_FOREVER;

static void *player(void *arg)
{
    uintptr_t me = (uintptr_t)arg;
    for (uint64_t i = 0; i < ops / 2; i++) {
        waiter[me] = tn_wait_prepare();
        if (i != 0 || me != 0)
            tn_wake(waiter[1 - me]);
        if (i + 1 < ops / 2 || me == 0)
            tn_wait(deadline, NULL);
    }
    return arg;
}

static void *ping_pong(void *arg)
{
    tn_fibre *f[2];
    for (uintptr_t i = 0; i < 2; i++) {
        if (tn_spawn(&f[i], NULL, player, (void *)i) != 0)
            abort();
        while (waiter[i].fibre == NULL) /* the first one waits before the second one is there, in whatever order */
            tn_yield();
    }
    for (int i = 0; i < 2; i++)
        tn_join(f[i], NULL);
    return arg;
}

static void *ping_pong_timed(void *arg)
{
    deadline = tn_now() + UINT64_C(3600000000000);
    return ping_pong(arg);
}

/* ---- the wheel alone: an operation cancels a timer and arms it anew, among few or many ---- */

enum { FEW = 1000, MANY = 100000, PRIME = 7919 };

static int restart(uint64_t n)
{
    static struct tn_timers wheel;
    static struct tn_timer timer[MANY];
    bool first;
    tn_timers_init(&wheel);
    for (uint64_t i = 0; i < n; i++)
        tn_timers_arm(&wheel, &timer[i], (i * PRIME % n) * UINT64_C(1000000), 0, &first);
    for (uint64_t i = 0; i < ops; i++) {
        struct tn_timer *t = &timer[i * PRIME % n];
        tn_timers_disarm(&wheel, t);
        tn_timers_arm(&wheel, t, t->deadline + 1000000, 0, &first);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void *(*run)(void *);
    } kinds[] = {{"yield", yield_two}, {"spawn", spawn_join}, {"wait", ping_pong}, {"timed", ping_pong_timed}};
    struct tn_config config = TN_CONFIG_INIT;
    config.workers = 1;
    config.idle = TN_IDLE_BLOCK;
    if (argc != 3)
        return 2;
    ops = strtoull(argv[2], NULL, 10);
    if (strcmp(argv[1], "wheel_few") == 0 || strcmp(argv[1], "wheel_many") == 0)
        return restart(strcmp(argv[1], "wheel_few") == 0 ? FEW : MANY);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            return tn_run(&config, kinds[i].run, NULL, NULL);
    return 2;
}
