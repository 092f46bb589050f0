#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tools/gdb/tenter-gdb.py: the fibres of a running program and of its core file.
#
#     gdb.sh PROGRAM
set -eu
command -v gdb >/dev/null || { echo "gdb: not installed: skipped"; exit 77; }
gdb -batch -nx -ex 'python print(1)' 2>&1 | grep -qx 1 || { echo "gdb: built without Python: skipped"; exit 77; }
root=$(CDPATH="" cd -- "$(dirname -- "$0")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
program=$1 script=$root/tools/gdb/tenter-gdb.py

fail() { cat "$out"; echo "gdb: $what: $1"; exit 1; }

# look COMMAND...: what gdb says of the fibres, between marks.
look() {
    gdb -batch -nx -ex 'set pagination off' -ex 'handle SIGCONT nostop noprint' -ex "source $script" "$@" \
        -ex 'echo \n[list]\n' -ex 'info fibres' \
        -ex 'echo \n[all]\n' -ex 'fibre apply all bt' \
        -ex 'echo \n[two]\n' -ex 'fibre apply 1 2 bt 1' \
        -ex 'echo \n[one]\n' -ex 'fibre 1' -ex 'fibre' -ex 'info fibres' -ex bt \
        -ex 'echo \n[off]\n' -ex 'fibre off' -ex 'fibre' -ex bt \
        -ex 'echo \n[wrong]\n' -ex 'fibre 77' >"$out" 2>&1 || true
}

part() { sed -n "/^\[$1\]/,/^\[/p" "$out"; }
wants() { part "$1" | grep -q -- "$2" || fail "[$1] lacks: $2"; }
lacks() { ! part "$1" | grep -q -- "$2" || fail "[$1] has: $2"; }

# trace NAME FUNCTION...: the fibre's back-trace has these frames (or a clone: f.constprop.0), in this order, and ends at begin.
trace() {
    name=$1
    shift
    frames=$(part all | sed -n "/^Fibre [0-9]* '$name'/,/^\$/p" | grep -v ' in ?? ()' | sed -n 's/^#[0-9]* *\(0x[0-9a-f]* in \)\{0,1\}\([a-zA-Z0-9_]*\)[a-z0-9.]* .*/\2/p')
    at=$(printf '%s ' $frames)
    for function; do
        case " $at" in *" $function "*) at=${at#*"$function "} ;; *) fail "$name: no frame of $function in: $frames" ;; esac
    done
    case $(printf '%s\n' "$frames" | grep -v '^$' | tail -n 1) in
    begin | tn_context_begin) ;;
    *) fail "$name: the trace does not end at begin: $frames" ;;
    esac
}

check() {
    what=$1
    wants list "'main' (first): runs on worker 0"
    wants list "'sleeper' (sleeps): sleeps, or waits to be woken"
    wants list "'lost' (waits): waits for mutex 0x"
    wants list "'joiner' (joins): joins 0x[0-9a-f]* 'sleeper'"
    wants list "'dead' (ends): ended, not joined"
    wants list "'new' (ends): ready, has not run yet"
    [ "$(part list | grep -c "^[ *] [0-9]* *0x")" = 8 ] || fail "not eight fibres"
    [ "$(part list | grep -c "^runtime 0x[0-9a-f]*, cluster 0x[0-9a-f]*, [a-z]")" = 2 ] || fail "not two runtimes"
    part list | grep -A1 "^runtime" | grep -q "'apart' (waits): waits for mutex 0x" || fail "[list] has no fibre apart by itself"
    trace main stop_here first begin
    trace lost tn_wait parked_here waits begin
    trace joiner tn_join joins begin
    trace sleeper tn_sleep_until sleeps begin
    [ "$(part two | grep -c '^Fibre [12] ')" = 2 ] || fail "[two] has not two"
    wants one "^fibre 1 '"
    wants one "^looking at fibre '"
    wants one '^\* 1 '
    wants off '^looking at no fibre'
    lacks off 'parked_here'
    wants wrong 'no fibre 77: `info fibres` shows 1 to 8'
}

check_deadlock() {
    what=$1
    wants list "'main' (deadlock): joins 0x[0-9a-f]* 'lost'"
    wants list "'lost' (waits): waits for mutex 0x"
    [ "$(part list | grep -c "^[ *] [0-9]* *0x")" = 2 ] || fail "not two fibres"
    lacks list '^runtime'
    trace main tn_join joins deadlock begin
    trace lost tn_wait parked_here waits begin
}

# core DIRECTORY ARGUMENT: the core file of the program, which aborts. gdb's own generate-core-file stops at the first
# guard page; the kernel knows them.
core() {
    mkdir -p "$1"
    (cd "$1" && ulimit -c unlimited && exec "$program" "$2") >/dev/null 2>&1 || true
    find "$1" -name '*core*' -type f | head -n 1
}

out=$tmp/live
look -ex 'break stop_here' -ex run "$program"
if grep -q 'ptrace: Operation not permitted\|Could not trace the inferior' "$out"; then
    echo "gdb: no ptrace here: skipped"
    exit 77
fi
check 'live'
out=$tmp/stuck
look -ex 'handle SIGABRT stop' -ex 'run deadlock' "$program"
check_deadlock 'live, in a deadlock'
core=$(core "$tmp/aborted" abort)
if [ -z "$core" ]; then
    echo "gdb: a running program yes; the system writes no core file here: that half is skipped"
    exit 0
fi
out=$tmp/dead
look -ex "file $program" -ex "core-file $core"
check 'core file'
core=$(core "$tmp/deadlock" deadlock)
out=$tmp/stuck-dead
look -ex "file $program" -ex "core-file $core"
check_deadlock 'core file of a deadlock'
echo "gdb: the fibres of a program and of its core file are listed and unwind"
