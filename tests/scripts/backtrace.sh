#!/bin/sh
# SPDX-License-Identifier: MIT
#
# gdb unwinds fibres: the running one, whose back-trace ends cleanly at the fibre's begin, and a parked one, from the
# three words that its context holds (core/context/x86_64.h).
#
#     backtrace.sh PROGRAM
set -eu
command -v gdb >/dev/null || { echo "backtrace: no gdb: skipped"; exit 77; }
out=$(gdb -batch -nx -ex 'handle SIGCONT nostop noprint' -ex 'break stop_here' -ex run -ex 'echo RUNNING\n' -ex bt \
    -ex 'set $context = *(long *)((char *)parked + 8)' -ex 'set $rbp = *(long *)($context + 8)' \
    -ex 'set $rsp = $context + 24' -ex 'set $rip = *(long *)($context + 16)' -ex 'echo PARKED\n' -ex bt "$1" 2>&1)
case $out in
*"ptrace: Operation not permitted"* | *"Couldn't get registers"*) echo "backtrace: no ptrace here: skipped"; exit 77 ;;
esac
running=$(printf '%s\n' "$out" | sed -n '/^RUNNING/,/^PARKED/p')
parked=$(printf '%s\n' "$out" | sed -n '/^PARKED/,$p')
fail() { printf '%s\nbacktrace: %s\n' "$out" "$1"; exit 1; }
for name in stop_here first begin; do
    printf '%s\n' "$running" | grep -q " $name (" || fail "running: no frame of $name"
done
for name in tn_wait parked_here sleeper begin; do
    printf '%s\n' "$parked" | grep -q " $name (" || fail "parked: no frame of $name"
done
# The outermost frame is where the fibre begins; gdb may show its return address, 0, as one more.
for trace in "$running" "$parked"; do
    last=$(printf '%s\n' "$trace" | grep '^#' | grep -v ' 0x0*  *in ?? ()' | tail -n 1)
    case $last in *" begin ("*) ;; *) fail "the trace goes on behind the fibre's begin: $last" ;; esac
    printf '%s\n' "$trace" | grep -qi 'corrupt\|backtrace stopped' && fail "the trace does not end cleanly"
done
echo "backtrace: a running and a parked fibre unwind"
