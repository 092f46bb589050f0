#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Debian's memcached as loadgen starts a server: --workers N threads, --memory MiB; a port of its own choice, said on standard error;
# until SIGTERM.
me=kvcache-memcached takes='--workers --memory --port' needs='memcached memcached' about="Debian's memcached"
workers=1 memory=64 port=0
. "$(dirname "$0")/peer.sh"
number --memory "$memory" 1048576 # MiB
[ -z "${ask:-}" ] || config "$(memcached -V | sed 's/.* //')" "values are sent from where they are; a thread that looks for what has expired"
[ "$port" != 0 ] || port=-1 # one that is free
MEMCACHED_PORT_FILENAME=$folder/port memcached $([ "$(id -u)" != 0 ] || echo "-u root") -l 127.0.0.1 -p "$port" -U 0 -t "$workers" -m "$memory" \
    -c 19000 -b 4096 &
child=$!
until port=$(grep -o '[0-9]*$' "$folder/port" 2>/dev/null) || ! kill -0 "$child" 2>/dev/null; do sleep 0.02; done
[ -n "$port" ] || { child=; echo "$me: memcached does not listen" >&2; finish 77; }
serves
