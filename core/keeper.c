/* SPDX-License-Identifier: MIT
 *
 * Part of hot.c: who watches the clock while all workers are busy (keeper.h).
 */

/* How often it looks. Who hogs for longer than this is sure to have been noticed. */
enum { KEEPER_NS = 1000000, KEEPER_QUIET = 4 };

static bool keeper_needed(void *arg)
{
    struct cluster *cl = arg;
    return tn_timers_earliest(&cl->timers) != UINT64_MAX &&
           tn_idle_workers(&cl->idle) == 0; /* behind a fence, or a hint */
}

/* w's cluster has a timer that may run out while w works. Called when w goes on to a fibre after it has armed the
 * earliest one, or has been idle. */
static inline void keep_time(struct cluster *cl)
{
    if (tn_timers_earliest(&cl->timers) == UINT64_MAX)
        return;
    tn_fence_light();
    if (!keeper_needed(cl))
        return;
    uint32_t was = tn_keeper_call(&cl->keeper);
    if (was == TN_KEEPER_NONE)
        keeper_start(cl);
    else if (was == TN_KEEPER_AWAKE)
        /* For speed only: it looks every millisecond anyhow. */
        tn_keeper_hurry(&cl->keeper, tn_timers_earliest(&cl->timers));
}

void *keeper_main(void *cluster)
{
    struct cluster *cl = cluster;
    unsigned quiet = 0;
    tn_time calm = 0; /* until then it is not to be hurried again */
    diagnose_own_begins();
    while (atomic_load_explicit(&cl->keeper.word, memory_order_relaxed) != TN_KEEPER_OVER) { /* relaxed: see end() */
        tn_time now = tn_now(), earliest = tn_timers_earliest(&cl->timers), until = now + KEEPER_NS;
        bool needed = keeper_needed(cl);
        quiet = needed ? 0 : quiet + 1;
        if (quiet > KEEPER_QUIET) {
            tn_keeper_rest(&cl->keeper, keeper_needed, cl);
            quiet = 0;
            continue;
        }
        if (needed && earliest <= now)
            workers_look_up(cl);
        else if (earliest < until)
            until = earliest > now ? earliest : until;
        if (tn_keeper_pause(&cl->keeper, until, now >= calm))
            calm = now + KEEPER_NS;
    }
    diagnose_own_ends();
    return NULL;
}
