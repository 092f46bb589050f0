/* check: ok
 * A pool of C11 threads that take jobs until it is shut down, woken by a broadcast. */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <threads.h>

struct task {
    struct task *next;
    void (*run)(int *);
    int *result;
};

static mtx_t mutex;
static cnd_t wake;
static struct task *tasks;
static bool closed;

static void square(int *x)
{
    *x *= *x;
}

static int worker(void *arg)
{
    (void)arg;
    int done = 0;
    for (;;) {
        mtx_lock(&mutex);
        while (tasks == NULL && !closed)
            cnd_wait(&wake, &mutex);
        struct task *t = tasks;
        if (t == NULL) {
            mtx_unlock(&mutex);
            return done;
        }
        tasks = t->next;
        mtx_unlock(&mutex);
        t->run(t->result);
        free(t);
        done++;
    }
}

int main(void)
{
    thrd_t pool[2];
    int numbers[2] = {3, 4}, done[2];
    mtx_init(&mutex, mtx_plain);
    cnd_init(&wake);
    for (int i = 0; i < 2; i++)
        thrd_create(&pool[i], worker, NULL);
    for (int i = 0; i < 2; i++) {
        struct task *t = malloc(sizeof *t);
        *t = (struct task){NULL, square, &numbers[i]};
        mtx_lock(&mutex);
        t->next = tasks;
        tasks = t;
        mtx_unlock(&mutex);
        cnd_signal(&wake);
    }
    mtx_lock(&mutex);
    closed = true;
    mtx_unlock(&mutex);
    cnd_broadcast(&wake);
    for (int i = 0; i < 2; i++)
        thrd_join(pool[i], &done[i]);
    mtx_destroy(&mutex);
    cnd_destroy(&wake);
    assert(numbers[0] == 9 && numbers[1] == 16 && done[0] + done[1] == 2);
    return 0;
}
