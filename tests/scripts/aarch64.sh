#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The library for aarch64, and the suites that know its contexts and stacks, built by Debian's cross compiler, linked
# statically and run by qemu-user. Built with branch protection, so that the landing pads are compiled; a disassembly
# looks for the marks that the linker is to make of it.
#
#     aarch64.sh SOURCE_ROOT
set -eu
root=$1
cc=aarch64-linux-gnu-gcc
for tool in $cc qemu-aarch64-static meson; do
    command -v "$tool" >/dev/null || { echo "aarch64: no $tool (packages gcc-aarch64-linux-gnu, qemu-user-static): skipped"; exit 77; }
done
echo 'int main(void) { return 0; }' | $cc -x c -static -o /dev/null - 2>/dev/null ||
    { echo "aarch64: the cross compiler has no C library (package libc6-dev-arm64-cross): skipped"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
fail() { echo "aarch64: $1"; exit 1; }

for context in asm ucontext; do
    dir=$tmp/$context
    meson setup "$dir" "$root" --cross-file "$root/tools/cross/aarch64-linux-gnu.ini" -Dcontext=$context -Dtests=false \
        -Dworkloads=false -Dschedulers=fifo,lifo,skeleton -Ddefault_library=static \
        -Dc_args=-mbranch-protection=standard >"$tmp/log" 2>&1 &&
        ninja -C "$dir" >>"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "the library does not build ($context)"; }
    grep 'warning:' "$tmp/log" && fail "warnings ($context)"
    suites='switch stack fault wait life'
    [ $context = asm ] || suites='switch'
    for suite in $suites; do
        $cc -O2 -g -static -pthread -D_GNU_SOURCE -UNDEBUG -mbranch-protection=standard -fstack-clash-protection --param=stack-clash-protection-guard-size=12 \
            -Wall -Wextra -I"$root/tests/cross" -I"$root/tests" -I"$root/core" -o "$dir/test_$suite" \
            "$root/tests/test_$suite.c" "$root/tests/harness.c" "$dir/core/libtenter.a"
        args= only=
        [ $suite != stack ] || { args=--few only='come back'; } # qemu knows no mincore of a guard
        echo "== $suite, $context"
        TENTER_TEST_WATCHDOG=300 TENTER_TEST_ONLY="$only" qemu-aarch64-static "$dir/test_$suite" $args || fail "$suite, $context"
    done
done

# The shared library says BTI and not PAC (core/context/aarch64.h). Without the start files and libgcc of Debian's cross
# compiler, which say neither.
$cc -shared -nostdlib -mbranch-protection=standard -o "$tmp/lib.so" -Wl,--whole-archive "$tmp/asm/core/libtenter.a" \
    -Wl,--no-whole-archive
notes=$(aarch64-linux-gnu-readelf -n "$tmp/lib.so")
case $notes in *PAC*) fail "the library claims PAC: $notes" ;; *BTI*) ;; *) fail "the library lost BTI: $notes" ;; esac
echo "aarch64: built, linked and run"
