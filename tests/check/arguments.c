/* check: ok
 * Threads in an allocated array, as many as the command line says; it says nothing here. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
    pthread_t thread;
    int number;
};

static atomic_long total;

static void *work(void *arg)
{
    struct job *job = arg;
    atomic_fetch_add_explicit(&total, job->number, memory_order_relaxed);
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 3;
    if (n < 1 || n > 100) {
        fprintf(stderr, "usage: %s [1-100]\n", argv[0]);
        return 2;
    }
    struct job *jobs = calloc((size_t)n, sizeof *jobs);
    if (jobs == NULL) {
        perror("calloc");
        return 1;
    }
    for (int i = 0; i < n; i++) {
        jobs[i].number = i + 1;
        int error = pthread_create(&jobs[i].thread, NULL, work, &jobs[i]);
        if (error != 0) {
            fprintf(stderr, "pthread_create: %s\n", strerror(error));
            exit(1);
        }
    }
    for (int i = 0; i < n; i++)
        pthread_join(jobs[i].thread, NULL);
    free(jobs);
    assert(atomic_load(&total) == n * (n + 1) / 2);
    printf("%ld\n", atomic_load(&total));
    return 0;
}
