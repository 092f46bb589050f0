/* SPDX-License-Identifier: MIT
 *
 * Channels, and waiting for one of several things. As in tenter_sync.h: by fibres and plain threads, 0 or an errno value,
 * objects of the caller's memory.
 */
#ifndef TENTER_CHANNEL_H
#define TENTER_CHANNEL_H

#include "tenter_sync.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------------------------- channel -- */

/* Items of one size from any number of senders to any number of receivers, each to one of them, in the order in which they
 * were sent. Items are copied while the channel is locked: send pointers to what is large. 48 bytes.
 * With a capacity a send waits while so many are on the way. Without one (0: rendezvous) it waits until it is received: who
 * has sent knows that somebody has the item. Those that wait are served in the order in which they came; whoever has waited
 * is handed its item or its place, and nobody barges in between. */
typedef struct tn_channel {
    struct tn_waits waits;
    void *senders, *items;
    uint32_t size, capacity, first, closed;
} tn_channel;

/* `items`: room for `capacity` items of `size` bytes each, the caller's as long as the channel is used. */
#define TN_CHANNEL_INIT(items, size, capacity)                                     \
    {                                                                              \
        {0, 0, NULL}, NULL, (items), (uint32_t)(size), (uint32_t)(capacity), 0, 0, \
    }

/* Who: any, before use. Blocks: no. Errors: EINVAL there is a capacity, but no room; size or capacity above INT32_MAX. */
TN_API int tn_channel_init(tn_channel *c, void *items, size_t size, size_t capacity);
/* Who: any. Blocks: no. Errors: EBUSY somebody waits. */
TN_API int tn_channel_destroy(tn_channel *c);

/* Send a copy of *item. What was done before is done for who receives it. Who: any. Blocks; the fibre may go on on another
 * worker. Errors: EPIPE the channel is closed, also while it waits: the item was not sent; ETIMEDOUT, ECANCELED, ENOMEM. */
TN_API int tn_channel_send(tn_channel *c, const void *item);
TN_API int tn_channel_send_until(tn_channel *c, const void *item, tn_time deadline, tn_token *token);
/* The same without waiting. Who: any. Blocks: no. Errors: EPIPE; EAGAIN it would have to wait. */
TN_API int tn_channel_trysend(tn_channel *c, const void *item);

/* Receive into *item, which is untouched unless that is done. Who: any. Blocks; the fibre may go on on another worker.
 * Errors: EPIPE the channel is closed and nothing is on the way any more; ETIMEDOUT, ECANCELED, ENOMEM. */
TN_API int tn_channel_receive(tn_channel *c, void *item);
TN_API int tn_channel_receive_until(tn_channel *c, void *item, tn_time deadline, tn_token *token);
/* The same without waiting. Who: any. Blocks: no. Errors: EPIPE; EAGAIN there is nothing. */
TN_API int tn_channel_tryreceive(tn_channel *c, void *item);

/* No more sends: all that wait are told EPIPE, and whoever comes later, receivers only when they have had what was on the
 * way. Who: any. Blocks: no. Errors: EALREADY it is closed. */
TN_API int tn_channel_close(tn_channel *c);

/* --------------------------------------------------------------------------------------------- select -- */

/* One of the things that tn_select waits for. */
struct tn_arm {
    const struct tn_arm_kind *kind;
    void *object, *item;
    int rc; /* out, of the arm that happened: 0, EPIPE where its channel is closed, or what its kind says */
    uint64_t room[18];
};

TN_API extern const struct tn_arm_kind tn_arm_send, tn_arm_receive, tn_arm_kept;

/* Arms, as initialisers. */
#define TN_SEND(channel, from)                      \
    {                                               \
        &tn_arm_send, (channel), (void *)(from), 0, \
        {                                           \
            0                                       \
        }                                           \
    }
#define TN_RECEIVE(channel, into)              \
    {                                          \
        &tn_arm_receive, (channel), (into), 0, \
        {                                      \
            0                                  \
        }                                      \
    }
/* Somebody has set the promise. */
#define TN_KEPT(promise)                  \
    {                                     \
        &tn_arm_kept, (promise), NULL, 0, \
        {                                 \
            0                             \
        }                                 \
    }

#define TN_SELECT_MAX 1024

/* Wait until one of `n` arms can happen (004 §5.2), and do that one, and nothing of the others; `*which` is its
 * number. If several can at once, each of them is as likely as the others, whatever their order (a fibre's choice
 * follows from the seed of the runtime). One that happens while all wait is the first that does. An arm of a closed
 * channel can happen, and says so in its `rc`. A channel may be in several arms, to send and to receive; they do
 * not meet each other. With a deadline that is past nothing is waited for, but what can happen does. When it
 * returns, `*which` may be destroyed as after the call that the arm stands for; the others have to be there until
 * then.
 * Who: any. Blocks; the fibre may go on on another worker. Errors: EINVAL no arm, or more than TN_SELECT_MAX;
 * ETIMEDOUT, ECANCELED, ENOMEM: none has happened, and `*which` is n. */
TN_API int tn_select(struct tn_arm *arms, unsigned n, unsigned *which, tn_time deadline, tn_token *token);

#ifdef __cplusplus
}
#endif
#endif
