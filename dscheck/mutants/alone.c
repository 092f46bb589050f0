/* SPDX-License-Identifier: MIT */
/* Who is alone at a barrier leaves its queue as it was, and waits for nobody. */
#include <pthread.h>

int main(void)
{
    pthread_barrier_t alone;
    pthread_barrier_init(&alone, NULL, 1);
    pthread_barrier_wait(&alone);
    return 0;
}
