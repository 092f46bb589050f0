#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Debian's memcached as loadgen starts a server: --workers N threads, --memory MiB; a port of its own choice, said on standard error;
# until SIGTERM.
set -u
workers=1 memory=64 port=0
while [ $# -gt 0 ]; do
    case $1 in
    --workers | --memory | --port)
        [ $# -gt 1 ] || { echo "kvcache-memcached: $1 needs a value" >&2; exit 2; }
        case $1 in --workers) workers=$2 ;; --memory) memory=$2 ;; *) port=$2 ;; esac
        shift ;;
    --json) ;;
    --print-config) ask=1 ;;
    *) echo "kvcache-memcached: no option $1 (there are --workers, --memory, --port, --json, --print-config)" >&2; exit 2 ;;
    esac
    shift
done
command -v memcached >/dev/null || { echo "kvcache-memcached: memcached (package memcached) is not installed" >&2; exit 77; }
if [ -n "${ask:-}" ]; then
    version=$(memcached -V | sed 's/.* //')
    printf '{"version": "%s", "runtime": "memcached", "scheduler": null, "knobs": {}, "poller": null, "context": null, "observe": null, ' "$version"
    printf '"compiler": null, "id": "memcached-%s", "differs": "values are sent from where they are; a thread that looks for what has expired"}\n' "$version"
    exit 0
fi
said=$(mktemp)
child=
finish() {
    trap '' TERM INT
    [ -z "$child" ] || { kill "$child" && wait "$child"; }
    rm -f "$said"
    exit "$1"
}
trap 'finish 0' TERM INT
[ "$port" != 0 ] || port=-1 # one that is free
MEMCACHED_PORT_FILENAME=$said memcached $([ "$(id -u)" != 0 ] || echo "-u root") -l 127.0.0.1 -p "$port" -U 0 -t "$workers" -m "$memory" \
    -c 19000 -b 4096 &
child=$!
until port=$(grep -o '[0-9]*$' "$said") || ! kill -0 "$child" 2>/dev/null; do sleep 0.02; done
[ -n "$port" ] || { child=; echo "kvcache-memcached: memcached does not listen" >&2; finish 77; }
echo "kvcache-memcached: listening at 127.0.0.1:$port" >&2
wait "$child"
code=$?
child=
finish "$code"
