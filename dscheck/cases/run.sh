#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the cases natively, as stress tests: each case must pass on the shipped files, and must catch each of its twins
# (twins/<case>-<what>.patch, a seeded bug): under the explorer or, of a case in large/ (and where the explorer does not run),
# by an assertion in a stress run.  A time-out is a failure, like a patch that no longer applies.  Where the bug lies in how
# a header is used rather than in the header, the patch is on the case, which does there what the core does.
#
# usage: run.sh [name ...]   only the cases and twins whose name begins with one of these
# environment: CC, CFLAGS, TENTER_CASE_ROUNDS (of the cases that must pass), TENTER_TWIN_ROUNDS, TENTER_TWIN_SECONDS

set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 2
root=$(cd "$here/../.." && pwd) || exit 2
rounds=${TENTER_CASE_ROUNDS:-2000}
twin_rounds=${TENTER_TWIN_ROUNDS:-100000}
seconds=${TENTER_TWIN_SECONDS:-20}
passed=0
failed=0

tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

pass() { passed=$((passed + 1)); echo "ok      $1: $2"; }
fail() { failed=$((failed + 1)); echo "FAILED  $1: $2"; }

wanted() {
    name=$1
    shift
    [ $# -eq 0 ] && return 0
    for prefix; do
        case $name in "$prefix"*) return 0 ;; esac
    done
    return 1
}

# path CASE: of its file, from here
path() { if [ -f "$here/large/$1.c" ]; then echo "large/$1.c"; else echo "$1.c"; fi; }

# build CASE TREE OUTPUT: the case, and all that it includes, from TREE
build() {
    # shellcheck disable=SC2086 # CFLAGS holds several words
    ${CC:-cc} -std=c17 -O2 -Wall -Wextra ${CFLAGS:-} -I"$2" -I"$2/core" -I"$2/schedulers" "$2/dscheck/cases/$(path "$1")" \
        -o "$3" -pthread 2>"$tmp/err"
}

# explored CASE: the explorer finds the bug of the twin in $copy
explored() {
    "$root/tenter" check "$copy/dscheck/cases/$(path "$1")" --budget 120s --save "$tmp/replay" -- -I"$copy" -I"$copy/core" \
        -I"$copy/schedulers" >"$tmp/err" 2>&1
    [ $? -eq 1 ]
}

cases=
for file in "$here"/*.c "$here"/large/*.c; do
    name=$(basename "$file" .c)
    cases="$cases $name"
    wanted "$name" "$@" || continue
    if ! build "$name" "$root" "$tmp/$name"; then
        fail "$name" "does not compile"
        cat "$tmp/err"
    elif ! (ulimit -t 10; exec env -u TENTER_CASE_ROUNDS timeout 300 "$tmp/$name") 2>"$tmp/err"; then
        fail "$name" "one round"
        cat "$tmp/err"
    elif ! (ulimit -t 60; TENTER_CASE_ROUNDS=$rounds exec timeout 600 "$tmp/$name") 2>"$tmp/err"; then
        fail "$name" "$rounds rounds within 60 s of processor time"
        cat "$tmp/err"
    else
        pass "$name" "$rounds rounds"
    fi
done

for patch in "$here"/twins/*.patch; do
    twin=$(basename "$patch" .patch)
    wanted "$twin" "$@" || continue
    of= # the longest case name that the twin's begins with
    for name in $cases; do
        case $twin in "$name"-*) [ ${#name} -gt ${#of} ] && of=$name ;; esac
    done
    if [ -z "$of" ]; then
        fail "$twin" "no case of that name"
        continue
    fi
    copy=$tmp/copy
    rm -rf "$copy"
    mkdir -p "$copy/core" "$copy/io/pollers" "$copy/dscheck/cases/large"
    cp -R "$root/schedulers" "$copy/"
    cp -R "$root/core/queues" "$root/core/sync" "$root/core/stacks" "$root/core/"*.[ch] "$copy/core/"
    cp "$root/io/"*.[ch] "$copy/io/"
    cp "$root/io/pollers/"*.[ch] "$copy/io/pollers/"
    cp "$here/"*.[ch] "$copy/dscheck/cases/"
    cp "$here/large/"*.c "$copy/dscheck/cases/large/"
    for file in "$here"/../*.[ch]; do
        [ ! -f "$file" ] || cp "$file" "$copy/dscheck/"
    done
    # -F0: hunks that apply only with fuzz are a twin to renew
    if ! (cd "$copy" && patch -p1 -s -F0 <"$patch") >"$tmp/err" 2>&1; then
        fail "$twin" "the patch does not apply"
        cat "$tmp/err"
    elif explored "$of"; then
        pass "$twin" "caught by the explorer: $(sed -n 's/^[^ ]*: bug under sc: //p' "$tmp/err" | head -n 1 | cut -c1-90)"
    elif [ ! -f "$here/large/$of.c" ] && [ "$(uname -m)" = x86_64 ]; then # stress hides that an exploration has grown
        fail "$twin" "not caught by the explorer"
        cat "$tmp/err"
    elif ! build "$of" "$copy" "$tmp/twin"; then
        fail "$twin" "does not compile"
        cat "$tmp/err"
    else
        # The inner shell keeps the outer one from reporting the abort.
        # Seconds of processor time: how loaded the machine is decides nothing.
        ( (ulimit -t "$seconds"; TENTER_CASE_ROUNDS=$twin_rounds exec timeout 600 "$tmp/twin"); echo $? >"$tmp/status") \
            >"$tmp/err" 2>&1
        status=$(cat "$tmp/status")
        if [ "$status" -eq 0 ]; then
            fail "$twin" "not caught in $twin_rounds rounds"
        elif [ "$status" -eq 124 ] || [ "$status" -eq 137 ] || [ "$status" -eq 152 ]; then # time-out, KILL, XCPU
            fail "$twin" "not caught in $seconds s of processor time"
        elif grep -q 'Assertion' "$tmp/err"; then
            pass "$twin" "caught by $of, $(sed -n 's/.*\(Assertion .*\) failed.*/\1/p' "$tmp/err" | head -n 1)"
        else
            fail "$twin" "ended with status $status, but by no assertion"
        fi
    fi
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
