#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A server whose behaviour is known, for the tests of loadgen.

    fake_server.py MODE SEEN [options that are not looked at]

It writes what it has seen to the file SEEN when it ends. Modes: good; once (each connection is closed after an answer); deaf (no
answer); mum (only the first on each connection); shut (each connection is closed at once); later (nonsense, from the 100th on); broken (closed in the middle of an answer); nonsense; error (404); stall (one pause of 0.4 s); gone (it exits); memcached;
killed, stopped (by itself, at the fifth connection); and of which it is no server: mute (says nothing of itself, nor ends), nameless (so too, but
says what it is), chatty (and something else, for ever).
"""
from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from typing import Any

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
ERROR = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
seen: dict[str, Any] = {"connections": 0, "requests": 0, "closes": 0, "addresses": [], "texts": [], "most": 0, "sets": 0}
lock = threading.Lock()
stalls = threading.Lock()


def note(text: bytes) -> None:
    with lock:
        seen["requests"] += 1
        seen["closes"] += b"Connection: close" in text
        if text.decode() not in seen["texts"] and len(seen["texts"]) < 200:
            seen["texts"].append(text.decode())


def stall() -> None:
    """Once, when some have been answered that count, all wait."""
    with stalls:
        if not seen.get("stalled") and seen["requests"] > 50:
            seen["stalled"] = True
            time.sleep(0.4)


def memcached(text: bytes, store: dict[bytes, bytes]) -> tuple[bytes, bytes]:
    """Answers, and what is left."""
    out = b""
    while b"\r\n" in text:
        line, _, rest = text.partition(b"\r\n")
        words = line.split()
        if words[:1] == [b"get"]:
            value = store.get(words[1])
            out += b"END\r\n" if value is None else b"VALUE %b 0 %d\r\n%b\r\nEND\r\n" % (words[1], len(value), value)
        elif words[:1] != [b"set"]:
            out += b"ERROR\r\n"
        else:
            n = int(words[4])
            if len(rest) < n + 2:
                break
            with lock:
                seen["sets"] += 1
            store[words[1]], rest = rest[:n], rest[n + 2:]
            out += b"STORED\r\n"
        note(line)
        text = rest
    return out, text


def serve(mode: str, c: socket.socket, store: dict[bytes, bytes]) -> None:
    text, said = b"", False
    try:
        while mode != "shut" and (some := c.recv(65536)):
            text += some
            if mode == "memcached":
                out, text = memcached(text, store)
                c.sendall(out)
                continue
            *requests, text = text.split(b"\r\n" if mode == "nonsense" else b"\r\n\r\n")
            with lock:
                seen["most"] = max(seen["most"], len(requests))
            for request in requests:
                note(request)
                if mode == "stall":
                    stall()
                elif mode == "deaf" or (mode == "mum" and said):
                    continue
                elif mode == "gone" and seen["requests"] > 20:
                    os._exit(3)
                elif mode == "broken" and seen["requests"] % 5 == 0:
                    c.sendall(ANSWER[:20])
                    return
                bad = mode == "nonsense" or (mode == "later" and seen["requests"] > 100)
                c.sendall(b"nonsense" * 10 if bad else ERROR if mode == "error" else ANSWER)
                said = True
                if mode == "once" or b"Connection: close" in request:
                    return
    except OSError:
        pass
    finally:
        c.close()


def main() -> int:
    mode, path = sys.argv[1:3]
    if mode in ("mute", "nameless", "chatty") and (mode == "mute" or "--print-config" not in sys.argv):
        while True:
            time.sleep(0.001)
            if mode == "chatty":
                print("chatty", file=sys.stderr, flush=True)
    if "--print-config" in sys.argv:
        print(json.dumps({"runtime": "fake", "version": mode, "words": sys.argv[3:], "id": "x"}))
        return 0
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(f"fake: listening at 127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
    store: dict[bytes, bytes] = {}
    try:
        while True:
            c, address = listener.accept()
            c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with lock:
                seen["connections"] += 1
                if address[0] not in seen["addresses"]:
                    seen["addresses"].append(address[0])
                if mode in ("killed", "stopped") and seen["connections"] == 5:
                    os.kill(os.getpid(), signal.SIGKILL if mode == "killed" else signal.SIGSTOP)
            threading.Thread(target=serve, args=(mode, c, store), daemon=True).start()
    finally:
        with open(path, "w", encoding="utf-8") as out:
            json.dump(seen, out)


if __name__ == "__main__":
    sys.exit(main())
