/* SPDX-License-Identifier: MIT
 *
 * What tests/scripts/backtrace.sh looks at with gdb: one fibre parked, another one running.
 */
#include <tenter.h>

__attribute__((used)) tn_fibre *parked; /* read by gdb */

static __attribute__((noinline)) int parked_here(void)
{
    tn_wait_prepare();
    int rc = tn_wait(TN_FOREVER, NULL);
    __asm__ volatile("" : "+r"(rc)); /* no tail call: the frame shall be there */
    return rc;
}

static void *sleeper(void *arg)
{
    parked = tn_fibre_self();
    parked_here();
    return arg;
}

__attribute__((noinline)) void stop_here(void)
{
    __asm__ volatile("" ::: "memory");
}

static void *first(void *arg)
{
    tn_fibre *f;
    if (tn_spawn(&f, NULL, sleeper, arg) == 0)
        tn_yield();
    stop_here();
    return arg;
}

int main(void)
{
    struct tn_config config = TN_CONFIG_INIT;
    config.workers = 1;
    return tn_run(&config, first, NULL, NULL);
}
