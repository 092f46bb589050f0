/* SPDX-License-Identifier: MIT
 *
 * What the kernel receives before a call asks for it (io/ahead.h): connections, by one accept for all, and what comes by TCP,
 * by one receive for all into buffers that each ring has given it. A part of uring.c.
 */
#ifndef TN_POLLERS_URING_AHEAD_H
#define TN_POLLERS_URING_AHEAD_H

enum { URING_BUFFERS = 1024, URING_BUFFER = 2048, URING_GROUP = 0 };

struct uring_buffer {
    struct tn_got got; /* first */
    struct uring *of;
    _Atomic(bool) given; /* before what is received there: the kernel orders that, and who checks sees no kernel */
    char bytes[];
};

enum { URING_BYTES = URING_BUFFER - sizeof(struct uring_buffer) };

static struct uring_buffer *uring_buffer_at(struct uring *r, unsigned i)
{
    return (struct uring_buffer *)(void *)(r->buffers + (size_t)i * URING_BUFFER);
}

/* Any thread. */
static void uring_give(struct uring *r, struct uring_buffer *b)
{
    unsigned i = (unsigned)(((char *)b - r->buffers) / URING_BUFFER);
    atomic_store_explicit(&b->given, true, memory_order_release); /* UB0 release */
    tn_spinlock_lock(&r->lock);
    io_uring_buf_ring_add(r->given, b->bytes, URING_BYTES, (unsigned short)i, URING_BUFFERS - 1, 0);
    io_uring_buf_ring_advance(r->given, 1);
    tn_spinlock_unlock(&r->lock);
}

static void uring_buffer_gone(struct tn_got *got, bool used)
{
    struct uring_buffer *b = (struct uring_buffer *)(void *)got;
    (void)used;
    uring_give(b->of, b);
}

/* Whoever has used that number too early has made it known: were it closed without a word, the number's next owner would be taken for
 * what it was, which never blocks. */
static void uring_accepted_gone(struct tn_got *got, bool used)
{
    if (!used)
        tn_close((int)got->result);
    free(got);
}

static int uring_open_buffers(struct uring *r)
{
    r->given = tn_map(URING_BUFFERS * sizeof(struct io_uring_buf));
    r->buffers = tn_map((size_t)URING_BUFFERS * URING_BUFFER);
    struct io_uring_buf_reg reg = {
        .ring_addr = (uintptr_t)r->given, .ring_entries = URING_BUFFERS, .bgid = URING_GROUP};
    int rc = r->given == NULL || r->buffers == NULL ? ENOMEM : -io_uring_register_buf_ring(&r->ring, &reg, 0);
    if (rc != 0) {
        uring_close_buffers(r);
        return rc;
    }
    io_uring_buf_ring_init(r->given);
    for (unsigned i = 0; i < URING_BUFFERS; i++) {
        uring_buffer_at(r, i)->of = r;
        uring_give(r, uring_buffer_at(r, i));
    }
    return 0;
}

static void uring_close_buffers(struct uring *r)
{
    if (r->given != NULL)
        tn_unmap(r->given, URING_BUFFERS * sizeof(struct io_uring_buf));
    if (r->buffers != NULL)
        tn_unmap(r->buffers, (size_t)URING_BUFFERS * URING_BUFFER);
    r->given = NULL;
    r->buffers = NULL;
}

/* ---- who asks ---- */

/* Of `got` as much as there is room for behind the first `before` bytes. */
static int64_t uring_take(struct tn_request *rq, int64_t before, struct tn_got *got)
{
    if (rq->kind == TN_REQUEST_ACCEPT) {
        got->used = (size_t)got->result;
        return got->result;
    }
    struct iovec one = {rq->data, rq->n}, *v = &one;
    size_t vectors = 1, skip = (size_t)before, copied = 0;
    if (rq->kind == TN_REQUEST_READV) {
        v = rq->data;
        vectors = rq->n;
    } else if (rq->kind == TN_REQUEST_RECVMSG) {
        struct msghdr *m = rq->data;
        v = m->msg_iov;
        vectors = m->msg_iovlen;
        m->msg_namelen = 0;
        m->msg_controllen = 0;
        m->msg_flags = 0;
    }
    for (size_t i = 0; i < vectors; i++) {
        size_t here = skip < v[i].iov_len ? skip : v[i].iov_len, room = v[i].iov_len - here;
        size_t left = (size_t)got->result - got->used, n = room < left ? room : left;
        if (n != 0)
            memcpy((char *)v[i].iov_base + here, ((struct uring_buffer *)(void *)got)->bytes + got->used, n);
        got->used += n;
        copied += n;
        skip -= here;
    }
    return (int64_t)copied;
}

static int uring_receive(void *state, struct tn_worker *me, struct tn_ahead *ahead, uint64_t key,
                         const struct tn_request *rq)
{
    int rc;
    struct uring *r = uring_of(state, me, &rc);
    struct io_uring_sqe *sqe = r != NULL ? uring_room(r) : NULL;
    if (sqe == NULL)
        return r == NULL ? rc : ENOMEM;
    bool accepts = rq->kind == TN_REQUEST_ACCEPT;
    if (accepts)
        io_uring_prep_multishot_accept(sqe, rq->fd, NULL, NULL, rq->flags);
    else {
        io_uring_prep_recv_multishot(sqe, rq->fd, NULL, 0, 0);
        sqe->flags |= IOSQE_BUFFER_SELECT;
        sqe->buf_group = URING_GROUP;
    }
    tn_ahead_begin(ahead, key, accepts, r);
    uring_put(r, sqe, uring_of_key(key, accepts ? URING_ACCEPTS : URING_RECEIVES));
    uring_pending(r, 1);
    return 0;
}

static void uring_drop(struct tn_ahead *ahead)
{
    uint64_t key = ahead->key; /* only who asks writes them, and nobody does any more */
    bool accepts = ahead->accepts;
    void *place;
    if (tn_ahead_drop(ahead, &place))
        uring_cancel(place, uring_of_key(key, accepts ? URING_ACCEPTS : URING_RECEIVES), 0);
}

/* ---- what the kernel tells ---- */

static void uring_received(struct uring *r, const struct io_uring_cqe *cqe, struct tn_list *ready)
{
    uint64_t key = uring_key(cqe->user_data);
    int64_t result = cqe->res == -ENOBUFS ? -EAGAIN : cqe->res; /* then who asks is to make the call itself */
    struct tn_got *got = NULL;
    if ((cqe->flags & IORING_CQE_F_BUFFER) != 0) {
        struct uring_buffer *b = uring_buffer_at(r, cqe->flags >> IORING_CQE_BUFFER_SHIFT);
        (void)atomic_load_explicit(&b->given, memory_order_acquire); /* UB0 acquire */
        b->got.gone = uring_buffer_gone;
        got = &b->got;
        if (cqe->res <= 0) {
            uring_give(r, b);
            got = NULL;
        }
    } else if (cqe->res >= 0 && (cqe->user_data & URING_TAGS) == URING_ACCEPTS) {
        got = malloc(sizeof *got);
        if (got == NULL)
            tn_close(cqe->res);
        else
            got->gone = uring_accepted_gone;
        result = got != NULL ? result : -ENOMEM;
    }
    if (got != NULL) {
        got->result = cqe->res;
        got->used = 0;
    }
    tn_ahead_comes(tn_io_ahead(key), key, got, (cqe->flags & IORING_CQE_F_MORE) != 0, result);
    tn_io_event(r->cl, key, 1U << TN_WAY_IN, 0, ready);
}

#endif
