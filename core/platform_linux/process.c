/* SPDX-License-Identifier: MIT
 *
 * The Linux platform: what threads look like from outside, and children of fork.
 */
#define _GNU_SOURCE
#include "../platform.h"
#include "../sanitize.h"
#include "child.h"

#include <errno.h>
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
    if (fd < 0) {
        static _Atomic(bool) said; /* relaxed: a message more or less */
        if ((errno == EMFILE || errno == ENFILE) && !atomic_exchange_explicit(&said, true, memory_order_relaxed))
            tn_message(
                "tenter: no descriptor is left to look at threads: stuck ones are not replaced; see ulimit -n");
        return false;
    }
    ssize_t n = read(fd, text, sizeof text);
    close(fd);
    const char *end = n > 0 ? memrchr(text, ')', (size_t)n) : NULL;
    return end != NULL && end + 2 < text + n && (end[2] == 'S' || end[2] == 'D');
}

static _Atomic(unsigned) process;      /* relaxed: written by the only thread of a new process */
static _Atomic(unsigned) tool_threads; /* relaxed: so too */

unsigned tn_process(void)
{
    return atomic_load_explicit(&process, memory_order_relaxed); /* relaxed: see there */
}

unsigned tn_tool_threads(void)
{
    return atomic_load_explicit(&tool_threads, memory_order_relaxed); /* relaxed: see there */
}

/* ThreadSanitizer begins a thread of its own with the first one that the program makes. After a fork it begins another
 * one if the process had only one thread, else none: by the time that handlers run in the child it has. */
static void *count_tools(void *before)
{
    unsigned tools = tn_thread_count() - *(const unsigned *)before - 1;
    atomic_store_explicit(&tool_threads, tools, memory_order_relaxed);
    return NULL;
}

static void in_child(void)
{
    tn_self_set(NULL);
    tn_child_look();
    tn_child_symbols();
    tn_child_fault();
    if (TN_SANITIZE_THREADS) /* relaxed, both: see there */
        atomic_store_explicit(&tool_threads, tn_thread_count() - 1, memory_order_relaxed);
    atomic_store_explicit(&process, tn_process() + 1, memory_order_relaxed); /* relaxed: see there */
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_t first;
    unsigned before = tn_thread_count();
    pthread_atfork(NULL, NULL, in_child);
    if (TN_SANITIZE_THREADS && pthread_create(&first, NULL, count_tools, &before) == 0)
        pthread_join(first, NULL);
}
