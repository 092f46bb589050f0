#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Debian's nginx as loadgen starts a server: --workers N processes that answer /plaintext, and with --files DIR what is there; a
# port of its own choice, said on standard error; until SIGTERM.
me=httpd-nginx takes='--workers --port --files' needs='nginx nginx-light' about="Debian's nginx, as a server of HTTP/1.1"
workers=1 port=0 files=
. "$(dirname "$0")/peer.sh"
if [ -n "$files" ]; then # from here: nginx would look for it beneath its own folder
    [ -d "$files" ] || { echo "$me: --files $files: no such directory" >&2; exit 2; }
    files=$(CDPATH='' cd -- "$files" && pwd)
fi
[ -z "${ask:-}" ] || config "$(nginx -v 2>&1 | sed 's/.*nginx.//')" "a Date in each answer; processes that share a socket"
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
        echo "$me: $(sed -n '/emerg/ { s/.*\[emerg\] *//; p; q; }' "$folder/said")" >&2 # what comes later says less
        finish 77
    fi
    port=0
done
serves
