/* check: ok
 * Messages of different lengths pushed on a stack of allocated nodes, all taken at once and turned round. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct message {
    struct message *next;
    size_t length;
    char text[];
};

static _Atomic(struct message *) inbox;

static void *sender(void *arg)
{
    char text[16];
    int length = snprintf(text, sizeof text, "from %s", (char *)arg);
    struct message *m = malloc(sizeof *m + (size_t)length + 1);
    m->length = (size_t)length;
    memcpy(m->text, text, (size_t)length + 1);
    m->next = atomic_load(&inbox);
    while (!atomic_compare_exchange_weak(&inbox, &m->next, m))
        ;
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    static char *names[] = {"anna", "bob"};
    unsigned got = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, sender, names[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    struct message *m = atomic_exchange(&inbox, NULL);
    while (m != NULL) {
        struct message *next = m->next;
        assert(strlen(m->text) == m->length);
        got += strstr(m->text, "anna") != NULL ? 1 : 2;
        free(m);
        m = next;
    }
    assert(got == 3);
    return 0;
}
