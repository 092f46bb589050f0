/* SPDX-License-Identifier: MIT
 *
 * A small program for the disassembly test: it uses what the test looks at, and prints what the test must
 * know.
 */
#include "internal.h"
#include "tenter_sync.h"

#include <stdio.h>

static void *use(void *arg)
{
    tn_yield();
    tn_yield_hard();
    tn_wait_prepare();
    tn_wait(0, NULL);
    static tn_mutex mutex = TN_MUTEX_INIT;
    static tn_local_mutex local;
    if (tn_local_mutex_init(&local, tn_cluster_self()) == 0) {
        tn_local_mutex_lock(&local);
        tn_local_mutex_unlock(&local);
    }
    tn_mutex_lock(&mutex);
    tn_mutex_unlock(&mutex);
    return arg;
}

int main(void)
{
    static char text[1 << 18];
    if (tn_describe(text, sizeof text) >= sizeof text)
        return 1;
    printf("{\"counts_at\":%zu,\"counts_size\":%zu,\"ran\":%d,\"build\":%s}\n", offsetof(struct worker, counts),
           sizeof(((struct worker *)NULL)->counts), tn_run(NULL, use, NULL, NULL) == 0, text);
    return 0;
}
