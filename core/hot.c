/* SPDX-License-Identifier: MIT
 *
 * The hot translation unit: the paths on which fibres are made ready, chosen and switched, together with the
 * scheduler module that the build has chosen. The generated tn_binding.h brings
 *
 *   -Dschedulers=fifo        the module's own .c file, and TN_SCHED(cl) as the address of its constant table: the
 *                            compiler sees through it, there is no call left between tn_yield and the switch
 *   -Dschedulers=fifo,lifo   a list of tables, and TN_SCHED(cl) as what the cluster chose by name
 */
#include "internal.h"
#include "preempted.h"
#include "tn_binding.h"

/* The poller too: what an idle or a looking-up worker asks of it is no indirect call either. */
#undef TN_KNOB_OWNER
#include TN_POLLER_FILE
#define POLLER (&TN_POLLER_TABLE)

#include "switch.c"
#include "suspend.c"
#include "keeper.c"
#include "worker.c"
#include "preempt.c"
#include "wait.c"
#include "self.c"
#include "fibre.c"
#include "join.c"

/* ---- what was bound ---- */

const struct tn_poller *const binding_poller = POLLER;

const struct tn_scheduler *const *binding_all(size_t *n)
{
    *n = BINDING_N;
    return binding_table;
}

/* By name; in a build with `plugin`, a shared object by its path: then a line has said why, where there is none. */
const struct tn_scheduler *binding_find(const char *name, size_t length, bool *said)
{
    *said = false;
    for (size_t i = 0; i < BINDING_N; i++)
        if (strlen(binding_table[i]->name) == length && memcmp(binding_table[i]->name, name, length) == 0)
            return binding_table[i];
    char path[256];
    if (!BINDING_PLUGIN || length >= sizeof path || memchr(name, '/', length) == NULL)
        return NULL;
    memcpy(path, name, length);
    path[length] = '\0';
    *said = true;
    return tn_plugin(path, "tn_scheduler_plugin");
}
