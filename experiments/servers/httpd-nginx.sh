#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Debian's nginx as loadgen starts a server: --workers N processes that answer /plaintext, and with --files DIR what is there; a
# port of its own choice, said on standard error; until SIGTERM.
set -u
PATH=$PATH:/usr/sbin
workers=1 port=0 files=
while [ $# -gt 0 ]; do
    case $1 in
    --workers | --port | --files)
        [ $# -gt 1 ] || { echo "httpd-nginx: $1 needs a value" >&2; exit 2; }
        case $1 in --workers) workers=$2 ;; --port) port=$2 ;; *) files=$2 ;; esac
        shift ;;
    --json) ;;
    --print-config) ask=1 ;;
    *) echo "httpd-nginx: no option $1 (there are --workers, --port, --files, --json, --print-config)" >&2; exit 2 ;;
    esac
    shift
done
command -v nginx >/dev/null || { echo "httpd-nginx: nginx (package nginx-light) is not installed" >&2; exit 77; }
if [ -n "${ask:-}" ]; then
    version=$(nginx -v 2>&1 | sed 's/.*nginx.//')
    printf '{"version": "%s", "runtime": "nginx", "scheduler": null, "knobs": {}, "poller": null, "context": null, "observe": null, ' "$version"
    printf '"compiler": null, "id": "nginx-%s", "differs": "a Date in each answer; processes that share a socket"}\n' "$version"
    exit 0
fi
folder=$(mktemp -d)
child=
finish() {
    trap '' TERM INT
    [ -z "$child" ] || { kill "$child" && wait "$child"; }
    rm -rf "$folder"
    exit "$1"
}
trap 'finish 0' TERM INT
tries=0
while :; do
    [ "$port" != 0 ] && fixed=1 || port=$(awk -v seed="$$$tries" 'BEGIN { srand(seed); print 20000 + int(rand() * 12000) }')
    cat >"$folder/conf" <<END
$([ "$(id -u)" != 0 ] || echo "user root;")
daemon off;
worker_processes $workers;
pid $folder/pid;
error_log $folder/error;
events { worker_connections 19000; }
http {
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path $folder/body; proxy_temp_path $folder/proxy; fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi; scgi_temp_path $folder/scgi;
    server {
        listen 127.0.0.1:$port backlog=4096;
        ${files:+root "$files";}
        location = /plaintext { default_type text/plain; return 200 "Hello, world!"; }
    }
}
END
    nginx -e "$folder/error" -c "$folder/conf" -p "$folder" 2>"$folder/said" &
    child=$!
    until [ -s "$folder/pid" ] || ! kill -0 "$child" 2>/dev/null; do sleep 0.02; done
    [ ! -s "$folder/pid" ] || break
    tries=$((tries + 1))
    child=
    if [ -n "${fixed:-}" ] || [ "$tries" = 20 ]; then
        echo "httpd-nginx: $(tail -n 1 "$folder/error" "$folder/said" | tail -n 1)" >&2
        finish 77
    fi
    port=0
done
echo "httpd-nginx: listening at 127.0.0.1:$port" >&2
wait "$child"
code=$?
child=
finish "$code"
