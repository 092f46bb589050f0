/* SPDX-License-Identifier: MIT */
/* Each turn writes one byte, then all eight, of which the second turn ends the loop: the byte hides the others not. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_int flag;
static union {
    unsigned char low;
    long whole;
} counts;

static __attribute__((noinline)) void narrow(void)
{
    counts.low = 0;
}

static __attribute__((noinline)) bool second(void)
{
    counts.whole += 256;
    return counts.whole == 512;
}

static void *waits(void *arg)
{
    while (!atomic_load(&flag)) {
        narrow();
        if (second())
            break;
    }
    return arg;
}

static void *sets(void *arg)
{
    atomic_store(&flag, 1);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, sets, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
