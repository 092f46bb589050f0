#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The platform seam: outside core/platform_linux/ and core/context/, nothing in core/, schedulers/ and io/ includes an
# operating-system header, calls an operating system, or declares a thread-local. core/platform.h may declare tn_self()'s
# one variable; in io/, tenter_io.h, sys_linux.c, the pollers and what these share on epoll are about the system.
set -eu
root=${1:-$(CDPATH="" cd -- "$(dirname -- "$0")/../.." && pwd)}
bad=0

complain() {
    printf '%s\n' "$1" "$2"
    bad=$((bad + 1))
}

allowed='stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|stdarg|errno|assert|limits|inttypes'
files=$(find "$root/core" "$root/schedulers" "$root/io" -name '*.[chS]' ! -path '*/platform_linux/*' ! -path '*/context/*' \
    ! -path '*/io/tenter_io.h' ! -path '*/io/sys_linux.c' ! -path '*/io/pollers/*.c' ! -path '*/io/pollers/epoll.h' | sort)
[ "$(printf '%s\n' "$files" | wc -l)" -ge 15 ] || complain 'seam: too few files found under' "$root"

# What a program that takes the queues alone gets (TN_QUEUES_STANDALONE) is no part of the core.
text=$(printf '%s\n' "$files" | xargs awk '
    FNR == 1 { skip = 0 }
    /^#ifdef TN_QUEUES_STANDALONE/ { skip = 1 }
    /^#else|^#endif/ { skip = 0 }
    !skip { print FILENAME ":" FNR ":" $0 }' | sed 's|core/stacks/mmap\.c:|core/stacks/mapped.c:|; /stacks_name\[\] = /d')

# sanitize.h is the interface of the sanitizers, not of the operating system.
found=$(printf '%s\n' "$text" | grep -E '^[^:]*:[0-9]+:[[:space:]]*#[[:space:]]*include[[:space:]]*<' |
    grep -vE "<($allowed)\.h>" | grep -vE 'core/sanitize\.h:[0-9]+:.*<(sanitizer|valgrind)/' || true)
[ -z "$found" ] || complain 'seam: headers of an operating system:' "$found"

found=$(printf '%s\n' "$text" | grep -E '\b(_Thread_local|thread_local|__thread)\b' |
    grep -vE ':[0-9]+:[[:space:]]*(\*|/\*|//)' |
    grep -vE 'core/platform\.h:[0-9]+:extern _Thread_local void \*tn_self_slot ' || true)
[ -z "$found" ] || complain 'seam: thread-locals:' "$found"

# And the words by which one would go round the seam.
found=$(printf '%s\n' "$text" | grep -wE 'syscall|pthread_[a-z_]+|mmap|munmap|madvise|futex|sched_yield|nanosleep|eventfd' |
    grep -vE ':[0-9]+:[[:space:]]*(\*|/\*|//)' | grep -vE '/\*.*(syscall|pthread|mmap|madvise|futex).*\*/' || true)
[ -z "$found" ] || complain 'seam: calls of an operating system:' "$found"

# The test itself: each kind of fault is found.
if [ $# -eq 0 ]; then
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    cp -R "$root/core" "$root/schedulers" "$root/io" "$tmp"
    for fault in '#include <pthread.h>' '#  include <sys/mman.h>' 'static _Thread_local int x;' '__thread int x;' \
        'void f(void) { sched_yield(); }'; do
        printf '%s\n' "$fault" >"$tmp/core/fault.c"
        if "$0" "$tmp" >/dev/null; then
            complain 'seam: not found when planted:' "$fault"
        fi
    done
fi
[ "$bad" -eq 0 ] || exit 1
echo 'seam: ok'
