/* SPDX-License-Identifier: MIT
 *
 * The captured packets (experiments/data/packets), embedded at build time.
 */
#ifndef PACKETS_H
#define PACKETS_H

#include <stddef.h>

#define PACKETS 10

struct packet {
    const unsigned char *data;
    size_t size;
};
extern const struct packet packets[PACKETS];

#endif
