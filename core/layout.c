/* SPDX-License-Identifier: MIT
 *
 * For debuggers: where things are in this build's structures, by name, so that tools/gdb/tenter-gdb.py reads a release
 * build, and a core file, which have no debugging information of the library.
 */
#include "internal.h"

#define AT(type, field)                                          \
    {                                                            \
#type "." #field, (uint32_t)offsetof(struct type, field) \
    }
#define IS(name)                \
    {                           \
#name, (uint32_t)(name) \
    }

TN_FOR_DEBUGGERS const struct layout_row tn_debug_layout[] = {
    AT(runtime, diagnosis.next),
    AT(runtime, clusters),
    AT(runtime, stacks.all),
    AT(cluster, next),
    AT(cluster, sched),
    AT(tn_scheduler, name),
    AT(cluster, pub.used),
    AT(cluster, pub.workers),
    AT(worker, pub.index),
    AT(worker, current),
    AT(worker, alive),
    AT(worker, stopped.thread),
    AT(fibre, next_block),
    AT(fibre, pub.context),
    AT(fibre, pub.cluster),
    AT(fibre, pub.home),
    AT(fibre, fn),
    AT(fibre, join),
    AT(fibre, wait),
    AT(fibre, joins),
    AT(fibre, note.what),
    AT(fibre, note.object),
    AT(fibre, note.seq),
    AT(fibre, timer.at),
    AT(fibre, name),
    IS(TN_JOIN_DONE),
    IS(TN_JOIN_CLOSING),
    IS(TN_JOIN_FREE),
    IS(TN_JOIN_TIMED),
    IS(WAIT_STATES),
    IS(WAIT_PARKED),
    {"", 0},
};
