#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Capture the ten TCP payloads of the packet workload (experiments/data/packets) on the loopback interface, from
# programs that Debian ships: nginx and apache2 serve, curl, wget, w3m and lynx ask, tcpdump listens.
#
#     tools/capture-packets.sh [DIRECTORY]     default: experiments/data/packets beside this script's folder
#
# It installs nothing, changes no setting, needs the right to capture (root), and stops what it starts. Host names
# in the requests are made up (*.example): the clients reach them through the loopback server as their proxy, so
# that neither the resolver nor /etc/hosts is involved. Exit: 0 good, 1 a payload is missing or has a wrong size,
# 2 a program is missing or may not capture.
set -eu
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"

case "${1:-}" in
-h | --help)
    sed -n '3,14s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
here=$(CDPATH="" cd -- "$(dirname -- "$0")/.." && pwd)
out=${1:-$here/experiments/data/packets}

missing=
for pair in nginx:nginx-light apache2:apache2 tcpdump:tcpdump curl:curl wget:wget w3m:w3m lynx:lynx python3:python3; do
    command -v "${pair%%:*}" >/dev/null || missing="$missing ${pair##*:}"
done
if [ -n "$missing" ]; then
    echo "capture-packets: missing:$missing" >&2
    echo "capture-packets: type: apt-get install --no-install-recommends$missing" >&2
    exit 2
fi

tmp=$(mktemp -d)
pids=
finish() {
    for pid in $pids; do
        kill "$pid" 2>/dev/null || true
    done
    rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 130' INT TERM

nginx_port=18080
apache_port=18081
mkdir -p "$tmp/www/catalogue" "$tmp/logs"
chmod 755 "$tmp" "$tmp/www" "$tmp/www/catalogue"

# ---- what is served: pages of about 2 KiB, so that head and body together make one segment of 2 to 3 KiB ----
python3 - "$tmp/www" <<'PY'
import pathlib, sys
www = pathlib.Path(sys.argv[1])
def page(title, rows):
    head = ('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<title>{title}</title>\n<link rel="stylesheet" href="/style.css">\n</head>\n<body>\n<h1>{title}</h1>\n')
    return head + '\n'.join(rows) + '\n</body>\n</html>\n'
cloth = ['serge', 'fustian', 'broadcloth', 'kersey', 'worsted', 'baize', 'camlet', 'shalloon', 'tammy', 'drugget',
         'linsey', 'frieze', 'calamanco', 'duffel', 'stammel', 'penistone', 'perpetuana', 'bombazine']
(www / 'index.html').write_text(page('Cloth on the frame', ['<ul>'] + [
    f'  <li><a href="/catalogue/{c}.html">{c}</a>: {12 + 7 * i % 31} yards, {3 + 5 * i % 17} hooks</li>'
    for i, c in enumerate(cloth)] + ['</ul>']) )
(www / 'table.html').write_text(page('Stock', ['<table>', '<tr><th>cloth</th><th>width</th><th>price</th></tr>'] + [
    f'<tr>\n  <td>{c}</td>\n  <td>{27 + i} in</td>\n  <td>{i % 4}s {i % 12}d</td>\n</tr>'
    for i, c in enumerate(cloth + cloth[:14])] + ['</table>']))
(www / 'stock.json').write_text('[\n' + ',\n'.join(
    f'  {{"cloth": "{c}", "yards": {12 + 7 * i % 31}, "hooks": {3 + 5 * i % 17}, "dyed": {str(i % 3 == 0).lower()},'
    f' "tags": ["wool", "{cloth[(i * 5 + 2) % 18]}"]}}' for i, c in enumerate(cloth)) + '\n]\n')
for i, c in enumerate(cloth[:15]):
    (www / 'catalogue' / f'{c}.html').write_text(page(c, [f'<p>{c}</p>'] * (3 + i)))
PY

cookies() { # a browser's worth of cookies: $1 of them
    python3 -c '
import random, sys
r = random.Random(2400 + int(sys.argv[1]))
names = ["session", "consent", "basket", "theme", "locale", "csrf", "visit", "seen", "flags", "ab"]
print("; ".join("%s%s=%s" % (names[i % 10], i // 10 or "", "".join(r.choice("abcdefghijkmnpqrstuvwxyz23456789")
      for _ in range(24 + i * 7 % 41))) for i in range(int(sys.argv[1]))))' "$1"
}

cat >"$tmp/nginx.conf" <<CONF
daemon off; master_process off; pid $tmp/nginx.pid; error_log $tmp/logs/nginx.log;
events { worker_connections 64; }
http {
    access_log off; sendfile off; large_client_header_buffers 8 16k; client_body_temp_path $tmp/body;
    proxy_temp_path $tmp/proxy; fastcgi_temp_path $tmp/fastcgi; uwsgi_temp_path $tmp/uwsgi; scgi_temp_path $tmp/scgi;
    types { text/html html; application/json json; }
    server {
        listen 127.0.0.1:$nginx_port; root $tmp/www;
        add_header Cache-Control "public, max-age=600"; add_header X-Content-Type-Options nosniff;
        add_header Set-Cookie "$(cookies 1); Path=/; HttpOnly; SameSite=Lax";
        add_header Content-Security-Policy "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'";
        location /catalogue/ { autoindex on; }
        location /order { return 303 /; }
    }
}
CONF
modules=/usr/lib/apache2/modules
{
    echo "ServerRoot $tmp"
    echo "ServerName cloth.example"
    echo "Listen 127.0.0.1:$apache_port"
    echo "PidFile $tmp/apache.pid"
    echo "ErrorLog $tmp/logs/apache.log"
    echo "ServerTokens OS"
    echo "User www-data"
    echo "Group www-data"
    echo "DocumentRoot $tmp/www"
    for m in mpm_event authz_core dir autoindex mime headers; do
        echo "LoadModule ${m}_module $modules/mod_$m.so"
    done
    echo "TypesConfig /etc/mime.types"
    echo "<Directory $tmp/www>"
    echo "    Require all granted"
    echo "    Options +Indexes"
    echo "    IndexOptions FancyIndexing"
    echo "</Directory>"
    echo "Header set X-Frame-Options DENY"
    echo "Header set Referrer-Policy strict-origin-when-cross-origin"
    echo "Header add Set-Cookie \"$(cookies 1); Path=/; Max-Age=86400\""
} >"$tmp/apache.conf"

nginx -e "$tmp/logs/nginx.log" -c "$tmp/nginx.conf" &
pids="$pids $!"
apache2 -X -f "$tmp/apache.conf" &
pids="$pids $!"
tcpdump -i lo -s 0 -U -w "$tmp/lo.pcap" "tcp port $nginx_port or tcp port $apache_port" 2>"$tmp/logs/tcpdump.log" &
dump=$!
pids="$pids $dump"
ready=
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    if [ -s "$tmp/lo.pcap" ] && grep -q listening "$tmp/logs/tcpdump.log"; then
        ready=1
        break
    fi
    sleep 0.25
done
if [ -z "$ready" ]; then
    cat "$tmp/logs/tcpdump.log" >&2
    echo "capture-packets: tcpdump may not capture on lo here" >&2
    exit 2
fi
sleep 0.5

# ---- ten exchanges, one TCP connection each, in this order; of each the request (q) or the reply (r) is kept ----
browser='Mozilla/5.0 (X11; Linux x86_64; rv:115.0) Gecko/20100101 Firefox/115.0'
accept='text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'
nginx_proxy=http://127.0.0.1:$nginx_port
apache_proxy=http://127.0.0.1:$apache_port
query=$(python3 -c 'print("&".join("f%d=%s" % (i, ("worsted+%d" % (i * i)) * 2) for i in range(92)))')
{
    curl -s -x "$nginx_proxy" -A "$browser" -H "Accept: $accept" -H 'Accept-Language: en-GB,en;q=0.7,fr;q=0.3' \
        -H 'DNT: 1' -H 'Upgrade-Insecure-Requests: 1' -H 'Sec-Fetch-Dest: document' -H 'Sec-Fetch-Mode: navigate' \
        -H 'Referer: http://cloth.example/catalogue/' -b "$(cookies 36)" http://cloth.example/index.html
    wget -q -O - -e use_proxy=yes -e http_proxy="$apache_proxy" --header "Cookie: $(cookies 40)" \
        --header 'Accept-Language: en' --header 'X-Forwarded-For: 192.0.2.17, 198.51.100.4' \
        --header 'Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' http://stock.example/table.html
    http_proxy=$nginx_proxy w3m -dump_source -header "Cookie: $(cookies 46)" -header 'X-Requested-With: XMLHttpRequest' \
        http://cloth.example/stock.json
    http_proxy=$nginx_proxy lynx -source "http://search.example/index.html?$query"
    curl -s -x "$nginx_proxy" -A "$browser" -H 'Expect:' -H "Accept: $accept" -b "$(cookies 9)" \
        --data-urlencode "note=$(sed -n '8,66p' "$tmp/www/table.html")" -d 'cloth=serge' -d 'yards=12' \
        --data-urlencode "address=$(printf '1 Weaver Row\r\nTown\r\nCounty\r\n')" http://shop.example/order
    curl -s "http://127.0.0.1:$nginx_port/index.html"
    curl -s "http://127.0.0.1:$nginx_port/catalogue/"
    wget -q -O - "http://127.0.0.1:$apache_port/table.html"
    wget -q -O - "http://127.0.0.1:$apache_port/stock.json"
    w3m -dump_source "http://127.0.0.1:$apache_port/index.html"
} >/dev/null
sleep 1.5
kill -INT "$dump"
wait "$dump" || true

mkdir -p "$out"
python3 - "$tmp/lo.pcap" "$out" "$tmp" <<'PY'
"""Cut the payloads out of the capture: of each connection, in order of its SYN, the first data segment each way."""
import os, pathlib, socket, struct, sys

WHAT = [('q', 'request of curl (GET, a browser\'s headers, 36 cookies) to nginx'),
        ('q', 'request of wget (GET, 40 cookies, proxy headers) to apache2'),
        ('q', 'request of w3m (GET, 46 cookies) to nginx'),
        ('q', 'request of lynx (GET with a long query) to nginx'),
        ('q', 'request of curl (POST of a form, head and body) to nginx'),
        ('r', 'reply of nginx: head and HTML page'),
        ('r', 'reply of nginx: head and the HTML index of a folder'),
        ('r', 'reply of apache2: head and HTML table'),
        ('r', 'reply of apache2: head and JSON'),
        ('r', 'reply of apache2: head and HTML page')]
data = pathlib.Path(sys.argv[1]).read_bytes()
order = '<' if data[:4] == b'\xd4\xc3\xb2\xa1' else '>'
at, flows = 24, {}
while at + 16 <= len(data):
    caught, = struct.unpack(order + 'I', data[at + 8:at + 12])
    frame = data[at + 16:at + 16 + caught]
    at += 16 + caught
    ip = frame[14:]
    if ip[0] >> 4 != 4 or ip[9] != 6:
        continue
    tcp = ip[(ip[0] & 15) * 4:int.from_bytes(ip[2:4], 'big')]
    source, target = struct.unpack('>HH', tcp[:4])
    payload, flags = tcp[(tcp[12] >> 4) * 4:], tcp[13]
    if flags & 0x12 == 0x02:
        flows[source] = {'q': b'', 'r': b''}
    for key, port in (('q', source), ('r', target)):
        if port in flows and payload and not flows[port][key]:
            flows[port][key] = payload
if len(flows) != len(WHAT):
    sys.exit(f'capture-packets: {len(flows)} connections in place of {len(WHAT)}')
private = [s.encode() for s in (sys.argv[3], socket.gethostname(), os.path.expanduser('~') + '/') if len(s) > 3]
out, payloads, lines, bad = pathlib.Path(sys.argv[2]), [], [], 0
for i, (flow, (way, what)) in enumerate(zip(flows.values(), WHAT)):
    payload = flow[way]
    if not 2048 <= len(payload) <= 3072:
        print(f'capture-packets: {i:02}: {len(payload)} bytes, wanted 2048 to 3072: {what}', file=sys.stderr)
        bad = 1
    for word in private:
        if word in payload:
            print(f'capture-packets: {i:02} holds {word!r}', file=sys.stderr)
            bad = 1
    payloads.append(payload)
    lines.append(f'| `{i:02}.bin` | {len(payload)} | {payload.count(10)} | {what} |')
if bad:
    sys.exit(1)
for i, payload in enumerate(payloads):
    (out / f'{i:02}.bin').write_bytes(payload)
def version(*command):
    import subprocess
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else command[0]
programs = [version('nginx', '-v'), version('apache2', '-v'), version('curl', '--version').split(' (')[0],
            version('wget', '--version'), version('w3m', '-version').split(',')[0], version('lynx', '-version'),
            version('tcpdump', '--version')]
(out / 'README.md').write_text('''# Packets

Ten TCP payloads of 2 to 3 KiB, each one segment of a real HTTP exchange, for the workload `packet` (its tasks scan a
copy for line ends). Captured by `tools/capture-packets.sh` with tcpdump on the loopback interface (MTU 65536, so that a
segment may be that long) while programs from Debian talked to each other. The host names are made up (`.example`), the
cookies are pseudo-random, the addresses are for documentation. The build embeds the files in the programs
(`experiments/workloads/embed_packets.py`), so that a binary needs nothing beside it.

| file | bytes | line ends | what |
| --- | --- | --- | --- |
''' + '\n'.join(lines) + '\n\nPrograms:\n\n' + ''.join(f'- {p}\n' for p in programs))
PY
echo "capture-packets: ten payloads in $out"
