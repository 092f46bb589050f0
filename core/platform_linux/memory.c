/* SPDX-License-Identifier: MIT
 *
 * The Linux platform: address space, guards, heavy fence.
 */
#define _GNU_SOURCE
#include "../platform.h"
#include "../sanitize.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 /* Linux 6.13; younger than Debian 12's headers */
#endif

size_t tn_page(void)
{
    static _Atomic(size_t) page; /* relaxed: whoever finds 0 asks again and gets the same answer */
    size_t p = atomic_load_explicit(&page, memory_order_relaxed);
    if (p == 0) {
        p = (size_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&page, p, memory_order_relaxed);
    }
    return p;
}

void *tn_map(size_t bytes)
{
    void *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    /* One huge page under a stack of which one small page is used would waste 2 MiB a fibre. */
    (void)madvise(p, bytes, MADV_NOHUGEPAGE);
    return p;
}

void tn_unmap(void *base, size_t bytes)
{
    munmap(base, bytes);
}

void tn_discard(void *base, size_t bytes)
{
    (void)madvise(base, bytes, MADV_DONTNEED);
}

/* Not "the call succeeded": older qemu-user accepts any advice and ignores it. A guard is one when a write to
 * it through the kernel fails. */
static bool guard_works(void)
{
    size_t page = tn_page();
    void *p = tn_map(page);
    if (p == NULL)
        return false;
    bool works = false;
    if (madvise(p, page, MADV_GUARD_INSTALL) == 0) {
        int fd[2];
        if (pipe(fd) == 0) {
            works = write(fd[1], p, 1) < 0 && errno == EFAULT;
            close(fd[0]);
            close(fd[1]);
        }
    }
    munmap(p, page);
    return works;
}

static bool have_guard;
static pthread_once_t guard_once = PTHREAD_ONCE_INIT;
static void guard_probe(void)
{
#if defined(TN_VALGRIND)
    const bool known = false; /* it does not know such guards, and tries a faulting access there for ever */
#else
    const char *wish = tn_getenv("TENTER_GUARDS");
    const bool known = wish == NULL || strcmp(wish, "mprotect") != 0;
#endif
    have_guard = known && guard_works();
}

const char *tn_guard_name(void)
{
    pthread_once(&guard_once, guard_probe);
    return have_guard ? "madvise" : "mprotect";
}

/* n guards in one call: 0.14 us each in place of 1.4. The descriptor that means "this process" is younger than
 * the guards; where the kernel does not know it, one call a guard. */
static bool guard_batch(char *at, size_t stride, size_t n)
{
#ifdef SYS_process_madvise
    enum { SELF = -10000, BATCH = 512 }; /* PIDFD_SELF_THREAD */
    struct iovec iov[BATCH];
    for (size_t done = 0; done < n;) {
        size_t k = n - done < BATCH ? n - done : BATCH;
        for (size_t i = 0; i < k; i++)
            iov[i] = (struct iovec){at + (done + i) * stride, tn_page()};
        if (syscall(SYS_process_madvise, SELF, iov, k, MADV_GUARD_INSTALL, 0) != (long)(k * tn_page()))
            return false;
        done += k;
    }
    return true;
#else
    (void)at, (void)stride, (void)n;
    return false;
#endif
}

int tn_guard(void *base, size_t stride, size_t n)
{
    char *at = base;
    pthread_once(&guard_once, guard_probe);
    if (have_guard && guard_batch(at, stride, n))
        return 0;
    for (size_t i = 0; i < n; i++) {
        int rc = have_guard ? madvise(at + i * stride, tn_page(), MADV_GUARD_INSTALL)
                            : mprotect(at + i * stride, tn_page(), PROT_NONE);
        if (rc != 0)
            return ENOMEM;
    }
    return 0;
}

/* ---- how much is used ---- */

/* Another thread may be at work there: words are read whole, and no sanitizer has a say. */
__attribute__((no_sanitize("address", "thread"))) static size_t zeros(const char *at, const char *end)
{
    const volatile uint64_t *word = (const volatile uint64_t *)(const volatile void *)at;
    size_t n = 0;
    tn_sanitize_look();
    while (at + n < end && word[n / sizeof *word] == 0)
        n += sizeof *word;
    tn_sanitize_looked(&n);
    return n;
}

size_t tn_used_above(const char *low, const char *high)
{
    enum { PAGES = 256 };
    unsigned char resident[PAGES];
    size_t page = tn_page();
    for (const char *at = low; at < high; at += PAGES * page) {
        size_t n = ((size_t)(high - at) + page - 1) / page;
        n = n < PAGES ? n : PAGES;
        if (mincore((void *)(uintptr_t)at, n * page, resident) != 0)
            return 0;
        for (size_t i = 0; i < n; i++) {
            const char *touched = at + i * page, *end = touched + page < high ? touched + page : high;
            if ((resident[i] & 1) != 0 && zeros(touched, end) < (size_t)(end - touched))
                return (size_t)(high - touched) - zeros(touched, end);
        }
    }
    return 0;
}

/* ---- the heavy fence ---- */

static bool have_membarrier;

/* Without membarrier: visit each processor. Whoever runs there when we arrive is switched out, and whoever has left it
 * meanwhile was switched out too: each of them has executed a full fence. (Changing a page's protection, the other
 * known way, no longer interrupts anybody on processors that broadcast the invalidation.) */
static void fence_by_visits(void)
{
    cpu_set_t before, one;
    long n = sysconf(_SC_NPROCESSORS_CONF);
    if (sched_getaffinity(0, sizeof before, &before) != 0)
        tn_die("tenter: no membarrier, and no sched_getaffinity for what replaces it");
    for (long cpu = 0; cpu < n && cpu < CPU_SETSIZE; cpu++) {
        CPU_ZERO(&one);
        CPU_SET((size_t)cpu, &one);
        (void)sched_setaffinity(0, sizeof one, &one); /* fails for those that this process may not use */
    }
    if (sched_setaffinity(0, sizeof before, &before) != 0)
        tn_die("tenter: no membarrier, and no sched_setaffinity for what replaces it");
    atomic_thread_fence(memory_order_seq_cst); /* for this thread itself */
}

/* Register once, at load time: before any thread relies on the light fence being light. TENTER_MEMBARRIER=0 does
 * without it, as an old kernel or a sandbox would. */
__attribute__((constructor)) static void fence_init(void)
{
    const char *wish = tn_getenv("TENTER_MEMBARRIER");
    have_membarrier = (wish == NULL || *wish != '0') &&
                      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void tn_fence_heavy(void)
{
    if (!have_membarrier || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        fence_by_visits();
}
