/* SPDX-License-Identifier: MIT
 *
 * For tests/scripts/instructions.py: one worker, so many operations of one kind, and nothing else.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tenter.h>

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

int main(int argc, char **argv)
{
    struct tn_config config = TN_CONFIG_INIT;
    config.workers = 1;
    config.idle = TN_IDLE_BLOCK;
    if (argc != 3)
        return 2;
    ops = strtoull(argv[2], NULL, 10);
    return tn_run(&config, strcmp(argv[1], "yield") == 0 ? yield_two : spawn_join, NULL, NULL);
}
