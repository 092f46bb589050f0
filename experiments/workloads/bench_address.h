/* SPDX-License-Identifier: MIT
 *
 * Addresses of IPv4 and IPv6, for servers and for who loads them: names resolved, sockets that listen, and in words what is
 * wrong with one.
 */
#ifndef BENCH_ADDRESS_H
#define BENCH_ADDRESS_H

#include "bench.h"

#include <net/if.h>
#include <netinet/in.h>

struct bench_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t size;
};

/* Those of a name, as the system prefers them. */
struct bench_addresses {
    int n;
    struct bench_address all[16];
};

/* Of `host`, numeric or a name. Where there are none the process ends (77; 2: it is empty), and says so
 * of --`option`. */
void bench_resolve(const struct bench *b, const char *option, const char *host, int port,
                   struct bench_addresses *out);

enum { BENCH_HOST_TEXT = INET6_ADDRSTRLEN + IF_NAMESIZE, BENCH_ADDRESS_TEXT = BENCH_HOST_TEXT + 16 };
/* Into so many bytes: "::1"; "[::1]:80". */
const char *bench_address_host(const struct bench_address *a, char to[BENCH_HOST_TEXT]);
const char *bench_address_text(const struct bench_address *a, char to[BENCH_ADDRESS_TEXT]);
int bench_address_port(const struct bench_address *a);

/* What the error of bind (`here`) or connect means of this address. */
const char *bench_address_wrong(const struct bench_address *a, bool here, int error);

/* Where to listen, for the table of a program that has --port too. */
#define BENCH_ADDRESS_OPTION                                                                                     \
    {                                                                                                            \
        "address", BENCH_TEXT, "127.0.0.1", 0, 0, NULL, "",                                                      \
            "to listen at, numeric or a name; 0.0.0.0: all of IPv4, ::, all that there are (default 127.0.0.1)", \
            NULL, 0, 0, false                                                                                    \
    }

/* Bind n sockets to the first of `all` that can be had, at its port or, where that is 0, one that is free, and say where
 * they listen, in the record as well. With more than one, connections are shared out by the kernel (SO_REUSEPORT). They block.
 * Where no address can be had the process ends (77). */
void bench_listen(struct bench *b, const struct bench_addresses *all, int *listeners, int n);

#endif
