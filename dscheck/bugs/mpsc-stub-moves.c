/* SPDX-License-Identifier: MIT */
/*
 * Vyukov's queue of many producers and one consumer, intrusive, whose stub is a pointer to the node popped last rather
 * than a node of the queue's own.  The consumer frees what it has popped, and a producer that has found that node by
 * its exchange links its own behind it: a write to freed memory.
 *
 * Repaired: the stub is embedded, and pushed again when the last node is to be popped.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

struct node {
    _Atomic(struct node *) next;
};

static _Atomic(struct node *) head; /* producers exchange it */
static struct node *tail;           /* the consumer's */
static struct node stub;

static void push(struct node *n)
{
    atomic_store(&n->next, NULL);
    struct node *before = atomic_exchange(&head, n);
    atomic_store(&before->next, n);
}

static struct node *pop(void)
{
    struct node *n = tail, *next = atomic_load(&n->next);
#ifdef REPAIRED
    if (n == &stub) {
        if (next == NULL)
            return NULL;
        tail = n = next;
        next = atomic_load(&n->next);
    }
    if (next == NULL) {
        if (n != atomic_load(&head))
            return NULL; /* a producer is about to link */
        push(&stub);
        next = atomic_load(&n->next);
        if (next == NULL)
            return NULL;
    }
    tail = next;
    return n;
#else
    if (next != NULL)
        tail = next; /* which is the stub from now on, and the caller's too */
    return next;
#endif
}

static void *producer(void *arg)
{
    push(malloc(sizeof(struct node)));
    return arg;
}

static void *consumer(void *arg)
{
    free(pop());
    return arg;
}

int main(void)
{
    pthread_t t[3];
    atomic_init(&head, &stub);
    tail = &stub;
    pthread_create(&t[0], NULL, producer, NULL);
    pthread_create(&t[1], NULL, producer, NULL);
    pthread_create(&t[2], NULL, consumer, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    for (struct node *n; (n = pop()) != NULL;)
        free(n);
    return 0;
}
