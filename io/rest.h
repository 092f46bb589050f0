/* SPDX-License-Identifier: MIT
 *
 * A message that is received call by call: where that ends, and what is missing.
 */
#ifndef TN_IO_REST_H
#define TN_IO_REST_H

#include "tenter_io.h"

/* Descriptors have come with it, or would have, had there been room: there the system ends a message, too. */
static inline bool has_descriptors(struct msghdr *m)
{
    bool has = (m->msg_flags & MSG_CTRUNC) != 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL && !has; c = CMSG_NXTHDR(m, c))
        has = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS;
    return has;
}

enum { RESTS = 8 };

/* The vectors of a message behind so many bytes, or the first of them. */
static inline size_t rest_of(const struct msghdr *message, size_t skip, struct iovec rest[RESTS])
{
    size_t n = 0;
    for (size_t i = 0; i < message->msg_iovlen && n < RESTS; i++) {
        const struct iovec *v = &message->msg_iov[i];
        size_t here = skip < v->iov_len ? skip : v->iov_len;
        if (here < v->iov_len)
            rest[n++] = (struct iovec){(char *)v->iov_base + here, v->iov_len - here};
        skip -= here;
    }
    return n;
}

#endif
