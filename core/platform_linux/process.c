/* SPDX-License-Identifier: MIT
 *
 * The Linux platform: what threads look like from outside, and children of fork.
 */
#define _GNU_SOURCE
#include "../platform.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

uint32_t tn_thread_number(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/* The state is the letter behind the name, which may hold anything, closing parentheses too. The name has at most 15
 * bytes, so the letter lies in the first 64. */
bool tn_thread_sleeps(uint32_t number)
{
    char path[48], text[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/stat", number);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text);
    close(fd);
    const char *end = n > 0 ? memrchr(text, ')', (size_t)n) : NULL;
    return end != NULL && end + 2 < text + n && (end[2] == 'S' || end[2] == 'D');
}

static _Atomic(unsigned) process; /* relaxed: written by the only thread of a new process */

unsigned tn_process(void)
{
    return atomic_load_explicit(&process, memory_order_relaxed);
}

static void in_child(void)
{
    tn_self_set(NULL);
    atomic_store_explicit(&process, tn_process() + 1, memory_order_relaxed);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}
