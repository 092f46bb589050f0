#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs the examples of the docs as they stand there, in a copy of the source: each block of a page that follows a
# line <!-- run -->, or <!-- file: NAME --> for one that is a file.
#
#     examples.sh SOURCE_ROOT
set -eu
root=$1
command -v meson >/dev/null || { echo "examples: no meson: skipped"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
mkdir "$tmp/tenter"
(cd "$root" && tar cf - --exclude=./build --exclude=./results --exclude=./.git .) | tar xf - -C "$tmp/tenter"
cd "$tmp/tenter"
ran=0
for page in README.md docs/*.md; do
    rm -f "$tmp"/block.*
    awk -v out="$tmp/block" '
        /^<!-- run -->/ { n++; target = out "." sprintf("%02d", n) ".sh"; next }
        /^<!-- file: / { n++; name = $3; target = name; next }
        /^```/ { if (inside) { inside = 0; close(target); target = "" } else if (target != "") inside = 1; next }
        inside { print > target }' "$page"
    for block in "$tmp"/block.*; do
        [ -f "$block" ] || continue
        if ! sh -eu "$block" >"$tmp/log" 2>&1; then
            cat "$block" "$tmp/log"
            echo "examples: a block of $page fails"
            exit 1
        fi
        ran=$((ran + 1))
    done
done
[ "$ran" -ge 3 ] || { echo "examples: only $ran blocks found"; exit 1; }
echo "examples: $ran blocks run"
