/* SPDX-License-Identifier: MIT
 *
 * Queues of other libraries, with the same face as our own; none where the program was built without them.
 */
#ifndef CROWD_PEERS_H
#define CROWD_PEERS_H

#include "queue_face.h"

extern const struct queue_face crowd_peers[];
extern const size_t crowd_peers_n;

#endif
