/* SPDX-License-Identifier: MIT
 *
 * See bench_address.h.
 */
#include "bench_address.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void bench_resolve(const struct bench *b, const char *option, const char *host, int port, struct bench_addresses *out)
{
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    int error = getaddrinfo(host, service, &wanted, &found);
    if (error != 0)
        bench_die(b, host[0] == '\0' ? BENCH_USAGE : BENCH_UNSUPPORTED, "--%s \"%s\": %s", option, host,
                  error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
    out->n = 0;
    for (const struct addrinfo *at = found; at != NULL; at = at->ai_next) {
        struct bench_address *a = &out->all[out->n];
        if (out->n == sizeof out->all / sizeof *out->all || at->ai_addrlen > sizeof a->v6)
            continue;
        memcpy(&a->v6, at->ai_addr, at->ai_addrlen);
        a->size = at->ai_addrlen;
        out->n++;
    }
    freeaddrinfo(found);
    if (out->n == 0)
        bench_die(b, BENCH_UNSUPPORTED, "--%s \"%s\": no address of IPv4 or IPv6", option, host);
}

const char *bench_address_host(const struct bench_address *a, char to[BENCH_HOST_TEXT])
{
    if (getnameinfo(&a->any, a->size, to, BENCH_HOST_TEXT, NULL, 0, NI_NUMERICHOST) != 0)
        snprintf(to, BENCH_HOST_TEXT, "?");
    return to;
}

int bench_address_port(const struct bench_address *a)
{
    return ntohs(a->any.sa_family == AF_INET6 ? a->v6.sin6_port : a->v4.sin_port);
}

const char *bench_address_text(const struct bench_address *a, char to[BENCH_ADDRESS_TEXT])
{
    char host[BENCH_HOST_TEXT];
    snprintf(to, BENCH_ADDRESS_TEXT, a->any.sa_family == AF_INET6 ? "[%s]:%d" : "%s:%d", bench_address_host(a, host),
             bench_address_port(a));
    return to;
}

const char *bench_address_wrong(const struct bench_address *a, bool here, int error)
{
    bool six = a->any.sa_family == AF_INET6;
    if (error == EAFNOSUPPORT && six)
        return "this machine has no IPv6";
    if (error == EINVAL && six && IN6_IS_ADDR_LINKLOCAL(&a->v6.sin6_addr) && a->v6.sin6_scope_id == 0)
        return "it is of a link, and needs to say which, as fe80::1%eth0";
    if (error == EADDRNOTAVAIL && here)
        return six ? "this machine has no such address, or IPv6 is switched off" : "this machine has no such address";
    if (error == EADDRNOTAVAIL)
        return six ? "no address of this machine has a port left, or IPv6 is switched off"
                   : "no address of this machine has a port left";
    return strerror(error);
}

/* ---- sockets that listen ---- */

/* -1: it cannot be, and errno says why. Else a port of 0 is now the one that it has. */
static int listens(struct bench_address *a, bool shared)
{
    int one = 1, none = 0, fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (a->any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr))
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &none, sizeof none); /* whatever the system's default is */
    if ((shared && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) != 0) ||
        bind(fd, &a->any, a->size) != 0 || listen(fd, 4096) != 0 || getsockname(fd, &a->any, &a->size) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Where connections of the last minute have used most ports, the kernel may choose one at which somebody else listens by then, or
 * find none: so another is asked for, for ten seconds. */
static int listener(struct bench_address *a, bool shared)
{
    int fd;
    for (int tries = 0;
         (fd = listens(a, shared)) < 0 && errno == EADDRINUSE && bench_address_port(a) == 0 && tries < 1000; tries++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return fd;
}

void bench_listen(struct bench *b, const struct bench_addresses *all, int *listeners, int n)
{
    static char host[BENCH_HOST_TEXT];
    char text[BENCH_ADDRESS_TEXT];
    struct bench_address a;
    int i = 0;
    do {
        a = all->all[i];
        listeners[0] = listener(&a, n > 1);
    } while (listeners[0] < 0 && ++i < all->n);
    for (i = 1; i < n && listeners[i - 1] >= 0; i++)
        listeners[i] = listener(&a, true);
    if (listeners[i - 1] < 0)
        bench_die(b, BENCH_UNSUPPORTED, "cannot listen at %s: %s", bench_address_text(&a, text),
                  bench_address_wrong(&a, true, errno));
    bench_set_text(b, "address", bench_address_host(&a, host));
    bench_set_int(b, "port", bench_address_port(&a));
    fprintf(stderr, "%s: listening at %s\n", b->program, bench_address_text(&a, text));
    fflush(stderr);
}
