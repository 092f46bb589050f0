/* SPDX-License-Identifier: MIT
 *
 * The locks of services in front-ends that are made of threads.
 */
#include "service.h"

#include <pthread.h>
#include <stdlib.h>

struct service_lock {
    pthread_mutex_t mutex;
};

struct service_lock *service_lock_new(void)
{
    struct service_lock *l = malloc(sizeof *l);
    if (l != NULL)
        pthread_mutex_init(&l->mutex, NULL);
    return l;
}

void service_lock_free(struct service_lock *l)
{
    free(l);
}

void service_lock(struct service_lock *l)
{
    pthread_mutex_lock(&l->mutex);
}

void service_unlock(struct service_lock *l)
{
    pthread_mutex_unlock(&l->mutex);
}
