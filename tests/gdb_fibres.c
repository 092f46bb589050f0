/* SPDX-License-Identifier: MIT
 *
 * What tests/scripts/gdb.sh looks at with gdb: a fibre in each state when stop_here is reached, and one in another
 * runtime. With the argument `abort` it ends there, with a core file.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <tenter.h>

static int object;
static tn_fibre *sleeper;

static __attribute__((noinline)) int parked_here(void)
{
    tn_wait_prepare();
    tn_wait_note("mutex", &object);
    int rc = tn_wait(TN_FOREVER, NULL);
    __asm__ volatile("" : "+r"(rc)); /* no tail call: the frame shall be there */
    return rc;
}

static void *waits(void *arg)
{
    parked_here();
    return arg;
}

static void *sleeps(void *arg)
{
    tn_sleep(UINT64_C(3600000000000));
    return arg;
}

static void *joins(void *arg)
{
    tn_join(sleeper, NULL);
    return arg;
}

static void *ends(void *arg)
{
    return arg;
}

/* The second of the other runtime: when it says so, the first one there has parked. */
static void *behind(void *said)
{
    for (int i = 0; i < 100; i++)
        tn_yield();
    atomic_store((atomic_bool *)said, true);
    parked_here();
    return said;
}

static atomic_bool apart_waits;
static bool die;

__attribute__((noinline)) void stop_here(void)
{
    __asm__ volatile("" ::: "memory");
    if (die)
        abort();
}

static tn_fibre *named(const char *name, void *(*fn)(void *))
{
    tn_fibre *f = NULL;
    if (tn_spawn(&f, &(struct tn_attr){.name = name}, fn, NULL) != 0)
        abort();
    return f;
}

static void *first(void *arg)
{
    sleeper = named("sleeper", sleeps);
    named("lost", waits);
    named("joiner", joins);
    named("dead", ends);
    for (int i = 0; i < 100 || !atomic_load(&apart_waits); i++)
        tn_yield();
    named("new", ends);
    stop_here();
    return arg;
}

/* Nobody will wake "lost": the process ends by abort. */
static void *deadlock(void *arg)
{
    sleeper = named("lost", waits);
    joins(arg);
    return arg;
}

int main(int argc, char **argv)
{
    bool stuck = argc > 1 && strcmp(argv[1], "deadlock") == 0;
    die = argc > 1 && strcmp(argv[1], "abort") == 0;
    struct tn_config config = TN_CONFIG_INIT;
    config.workers = 1;
    tn_runtime *other;
    if (!stuck && (tn_start(&other, &config) != 0 ||
                   tn_spawn(NULL, &(struct tn_attr){.name = "apart", .runtime = other}, waits, NULL) != 0 ||
                   tn_spawn(NULL, &(struct tn_attr){.name = "behind", .runtime = other}, behind, &apart_waits) != 0))
        abort();
    return tn_run(&config, stuck ? deadlock : first, NULL, NULL);
}
