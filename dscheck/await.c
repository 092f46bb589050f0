/* SPDX-License-Identifier: MIT */
/*
 * Loops that wait.  Each read is recorded with the state of its thread: all bytes of its stack from the stack pointer
 * on, where the registers lie too.  A thread that comes back to a recorded state, plain memory that it has written
 * included, and has written nothing atomic, has done nothing: it waits.  Its last read then becomes a BOTTOM, and the
 * thread is put back to where it was about to read; it goes on when somebody writes there.
 */
#include "exec.h"

#include <string.h>

bool await_may_loop(unsigned op)
{
    return (op < OP_FENCE && op != OP_STORE) || op == OP_TRYLOCK || op == OP_TRYRDLOCK || op == OP_TRYTAKE;
}

void await_record(unsigned t, uint16_t slot)
{
    struct state *s = &exec_state[t];
    char *sp = in_thread[t].sp;
    uint32_t bytes = (uint32_t)(in_thread[t].high - sp);
    if (s->records == RECORDS || s->used + bytes > RECORD_BYTES)
        await_wrote(t);
    if (bytes > RECORD_BYTES)
        return;
    s->record[s->records++] = (struct record){sp, bytes, s->used, slot, (uint16_t)s->undos, s->q};
    memcpy(s->kept + s->used, sp, bytes);
    s->used += bytes;
}

/* Plain memory that it has written since then is what it was. */
static bool undone(const struct state *s, unsigned since)
{
    for (unsigned i = since; i < s->undos; i++) {
        const struct undo *u = &s->undo[i];
        bool first = true;
        for (unsigned j = since; j < i; j++)
            first &= s->undo[j].at != u->at || s->undo[j].size < u->size;
        if (first && memcmp(u->at, &u->old, u->size) != 0)
            return false;
    }
    return true;
}

static inline bool same(const struct state *s, const char *sp, const struct record *r)
{
    return r->sp == sp && r->q.at == s->q.at && r->q.op == s->q.op && memcmp(s->kept + r->at, sp, r->bytes) == 0 &&
           undone(s, r->undos);
}

bool await_seen(unsigned t)
{
    const struct state *s = &exec_state[t];
    const char *sp = in_thread[t].sp;
    for (unsigned i = 0; i < s->records; i++)
        if (same(s, sp, &s->record[i]))
            return true;
    return false;
}

/*
 * A turn with a compare-and-exchange or a try-lock that failed is work, but not twice: if the turn before it has read
 * the same writes, it is in vain.
 */
static bool repeats(const struct state *s, unsigned from)
{
    const struct slot *slot = search_graph->slot;
    unsigned n = s->records - from;
    bool work = false;
    for (unsigned i = from; i < s->records; i++)
        work |= slot[s->record[i].slot].op >= OP_CAS;
    if (!work)
        return true;
    if (from < n)
        return false;
    for (unsigned i = from; i < s->records; i++) {
        const struct slot *a = &slot[s->record[i - n].slot], *b = &slot[s->record[i].slot];
        if (a->pc != b->pc || a->loc != b->loc || a->rf != b->rf || a->choice != b->choice)
            return false;
    }
    return true;
}

int await_came_back(unsigned t)
{
    const struct state *s = &exec_state[t];
    const char *sp = in_thread[t].sp;
    for (unsigned i = 0; i < s->records; i++)
        if (same(s, sp, &s->record[i]) && repeats(s, i))
            return (int)i;
    return -1;
}

void await_put_back(unsigned t, const struct record *r)
{
    struct state *s = &exec_state[t];
    in_thread[t].sp = r->sp;
    memcpy(r->sp, s->kept + r->at, r->bytes);
    while (s->undos > r->undos) {
        const struct undo *u = &s->undo[--s->undos];
        memcpy(u->at, &u->old, u->size);
    }
    s->q = r->q;
    s->pending = true;
}

bool await_room(unsigned t)
{
    const struct state *s = &exec_state[t];
    return s->records < RECORDS && s->used + (uint32_t)(in_thread[t].high - (char *)in_thread[t].sp) <= RECORD_BYTES;
}

void await_put_back_to(unsigned t, unsigned records)
{
    struct state *s = &exec_state[t];
    const struct record *r = &s->record[records - 1];
    await_put_back(t, r);
    s->records = records;
    s->used = r->at + r->bytes;
}

void await_wrote(unsigned t)
{
    exec_state[t].records = exec_state[t].used = exec_state[t].undos = 0;
}

void await_plain(unsigned t, const void *at, size_t size)
{
    struct state *s = &exec_state[t];
    char *from = (char *)at;
    if (s->records == 0 || (from >= in_thread[t].low && from < in_thread[t].high))
        return;
    if (s->undos + size / 8 + 1 > UNDOS) {
        await_wrote(t);
        return;
    }
    while (size > 0) {
        struct undo *u = &s->undo[s->undos++];
        *u = (struct undo){from, 0, (uint8_t)(size < 8 ? size : 8)};
        memcpy(&u->old, from, u->size);
        from += u->size;
        size -= u->size;
    }
}

/* A number for the return addresses above a suspended thread: frames have pointers to each other. */
static uint64_t callers(unsigned t)
{
    const uint64_t *sp = in_thread[t].sp, *high = (const uint64_t *)in_thread[t].high;
    uint64_t sum = sp[6];
    for (const uint64_t *frame = (const uint64_t *)sp[4]; frame > sp && frame + 1 < high;) {
        sum = (sum ^ frame[1]) * UINT64_C(0x9e3779b97f4a7c15);
        const uint64_t *up = (const uint64_t *)frame[0];
        if (up <= frame)
            break;
        frame = up;
    }
    return sum;
}

void await_note_retry(unsigned t, const struct slot *s)
{
    struct state *st = &exec_state[t];
    if (s->writes) {
        st->beens = 0;
        st->failed = false;
        return;
    }
    st->failed |= s->op >= OP_CAS && s->op <= OP_CAS_VAL;
    for (unsigned i = 0; i < st->beens; i++) {
        if (st->been[i].loc != s->loc)
            continue;
        if (st->been[i].pc == s->pc && st->been[i].sp == in_thread[t].sp && st->been[i].callers == callers(t)) {
            /* it has waited here */
            st->been[i].value = s->old;
            return;
        }
        st->failed |= st->been[i].value != s->old;
    }
    if (st->beens < RECORDS) {
        st->been[st->beens].sp = in_thread[t].sp;
        st->been[st->beens].callers = callers(t);
        st->been[st->beens].value = s->old;
        st->been[st->beens].pc = s->pc;
        st->been[st->beens++].loc = s->loc;
    }
}

bool await_retries(unsigned t)
{
    struct state *st = &exec_state[t];
    for (unsigned i = 0; i < st->beens; i++)
        if (st->been[i].pc == st->q.pc && st->been[i].sp == in_thread[t].sp && st->been[i].callers == callers(t)) {
            if (st->failed)
                return true;
            st->beens = 0; /* a turn that was not in vain */
        }
    return false;
}

static struct {
    struct been been[RECORDS];
    unsigned beens;
    bool failed;
} before; /* the look ahead */

void await_try_retry(unsigned t, const struct slot *s)
{
    const struct state *st = &exec_state[t];
    memcpy(before.been, st->been, st->beens * sizeof(*st->been));
    before.beens = st->beens;
    before.failed = st->failed;
    await_note_retry(t, s);
}

bool await_tried_retry(unsigned t)
{
    struct state *st = &exec_state[t];
    bool retries = await_retries(t);
    memcpy(st->been, before.been, before.beens * sizeof(*st->been));
    st->beens = before.beens;
    st->failed = before.failed;
    return retries;
}
