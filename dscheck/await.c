/* SPDX-License-Identifier: MIT */
/*
 * Loops that wait.  Each read is recorded with the state of its thread: all bytes of its stack from the stack pointer
 * on, where the registers lie too.  A thread that comes back to a recorded state without having written anything has
 * done nothing: it waits.  Its last read then becomes a BOTTOM, and the thread is put back to where it was about to
 * read; it goes on when somebody writes there.
 */
#include "exec.h"

#include <string.h>

bool await_may_loop(const struct request *q)
{
    return q->op < OP_ATOMIC_END && q->op != OP_STORE;
}

/* A failed compare-and-exchange counts as work, unless the user says otherwise. */
bool await_may_wait(const struct request *q)
{
    return await_may_loop(q) && q->op < OP_CAS;
}

void await_record(unsigned t, uint16_t slot)
{
    struct state *s = &exec_state[t];
    char *sp = in_thread[t].sp;
    uint32_t bytes = (uint32_t)(in_thread[t].high - sp);
    if (s->records == RECORDS || s->used + bytes > RECORD_BYTES)
        s->records = s->used = 0;
    if (bytes > RECORD_BYTES)
        return;
    s->record[s->records++] = (struct record){sp, bytes, s->used, slot, s->q};
    memcpy(s->kept + s->used, sp, bytes);
    s->used += bytes;
}

int await_came_back(unsigned t)
{
    struct state *s = &exec_state[t];
    char *sp = in_thread[t].sp;
    for (unsigned i = 0; i < s->records; i++) {
        const struct record *r = &s->record[i];
        if (r->sp == sp && r->q.at == s->q.at && r->q.op == s->q.op && memcmp(s->kept + r->at, sp, r->bytes) == 0)
            return (int)i;
    }
    return -1;
}

void await_put_back(unsigned t, const struct record *r)
{
    in_thread[t].sp = r->sp;
    memcpy(r->sp, exec_state[t].kept + r->at, r->bytes);
    exec_state[t].q = r->q;
    exec_state[t].pending = true;
}

void await_wrote(unsigned t)
{
    exec_state[t].records = exec_state[t].used = 0;
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
        if (st->been[i].pc == s->pc && st->been[i].sp == in_thread[t].sp) { /* it has waited here */
            st->been[i].value = s->old;
            return;
        }
        st->failed |= st->been[i].value != s->old;
    }
    if (st->beens < RECORDS) {
        st->been[st->beens].sp = in_thread[t].sp;
        st->been[st->beens].value = s->old;
        st->been[st->beens].pc = s->pc;
        st->been[st->beens++].loc = s->loc;
    }
}

bool await_retries(unsigned t)
{
    struct state *st = &exec_state[t];
    for (unsigned i = 0; i < st->beens; i++)
        if (st->been[i].pc == st->q.pc && st->been[i].sp == in_thread[t].sp) {
            if (st->failed)
                return true;
            st->beens = 0; /* a turn that was not in vain */
        }
    return false;
}
