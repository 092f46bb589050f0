#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kvcache with each front-end, over sockets: the recording of memcached, clients that Debian has, several at once.

    kvcache.py RECORDING KVCACHE...
"""
from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import servers
from servers import Client, Server, comes_to, idle, program, resident, wanted

skipped: set[str] = set()


def read(text: str) -> bytes:
    def byte(m: re.Match[bytes]) -> bytes:
        if m[2]:
            return b"%d" % (time.time() + int(m[2]))
        return bytes([int(m[1], 16)]) if m[1] else {b"r": b"\r", b"n": b"\n", b"t": b"\t"}.get(m[3], m[3])

    return re.sub(rb"\\(?:x(..)|@(-?\d+);|(.))", byte, text.encode("latin-1"), flags=re.S)


def conversations(path: Path) -> list[tuple[str, list[tuple[bytes, bytes]]]]:
    """Those without a pause: what time does is tested where the clock is the test's (test_kvcache_talk)."""
    found: list[tuple[str, list[tuple[bytes, bytes]]]] = []
    timed: set[str] = set()
    sent = b""
    for line in path.read_text(encoding="latin-1").split("\n"):
        mark, text = line[:1], line[2:]
        if mark == "=":
            found.append((text, []))
        elif mark == "~":
            timed.add(found[-1][0])
        elif mark == ">":
            sent = read(text)
        elif mark == "<":
            found[-1][1].append((sent, read(text)))
    return [conversation for conversation in found if conversation[0] not in timed]


def answer(c: Client, text: bytes) -> bytes:
    """What is answered before the answer to a command that has been sent behind it."""
    c.sends(text + b"mn\r\n")
    c.until(lambda got: got.endswith(b"ERROR\r\n"))
    got, c.left = c.left, b""
    return got[:-7]


def recorded(path: Path) -> None:
    for name, exchanges in conversations(path):
        server = Server()
        c = Client(server)
        for sent, said in exchanges:
            c.sends(sent + b"quit?\r\n")
            c.until(lambda got, n=len(said) + 7: len(got) >= n)     # type: ignore[misc]
            if not c.left == said + b"ERROR\r\n":
                wanted(f"{name}: {sent!r}: {c.left!r}, but memcached: {said!r}", False)
                break
            c.left = b""
        server.ends()


def library(server: Server) -> None:
    """python3-pymemcache, which Debian has."""
    if importlib.util.find_spec("pymemcache") is None:
        skipped.add("python3-pymemcache is not installed")
        return
    base = importlib.import_module("pymemcache.client.base")
    c = base.Client(("127.0.0.1", server.port), timeout=120, default_noreply=False)
    wanted("pymemcache: set, get", c.set("a", "1", expire=100) and c.get("a") == b"1" and c.get("none") is None)
    wanted("pymemcache: many", c.set_many({f"k{i}": "v" * i for i in range(300)}) == []
           and c.get_many([f"k{i}" for i in range(400)]) == {f"k{i}": b"v" * i for i in range(300)})
    wanted("pymemcache: add, replace", not c.add("a", "2") and c.add("b", "2") and c.replace("b", "3") and not c.replace("c", "3"))
    wanted("pymemcache: append, prepend", c.append("b", ">") and c.prepend("b", "<") and c.get("b") == b"<3>")
    value, unique = c.gets("b")
    wanted("pymemcache: cas", c.cas("b", "4", unique) and c.cas("b", "5", unique) is False and c.cas("none", "5", b"1") is None
           and value == b"<3>" and c.gets_many(["b", "none"]).keys() == {"b"})
    wanted("pymemcache: incr, decr", c.incr("a", 9) == 10 and c.decr("a", 100) == 0 and c.incr("none", 1) is None)
    wanted("pymemcache: touch, gat", c.touch("a", 100) and not c.touch("none", 100))
    wanted("pymemcache: delete", c.delete("a") and not c.delete("a") and c.delete_many(["b", "k1"]))
    wanted("pymemcache: large", c.set("large", "x" * 1000000) and len(c.get("large")) == 1000000)
    try:
        c.set("large", "x" * 2000000)
        wanted("pymemcache: too large", False)
    except importlib.import_module("pymemcache.exceptions").MemcacheServerError:
        pass
    stats = c.stats()
    wanted("pymemcache: stats", int(stats[b"curr_items"]) >= 299 and stats[b"limit_maxbytes"] == 64 << 20)
    wanted("pymemcache: flush_all, version", c.flush_all() and c.get("k2") is None and c.version() == b"1.6.18")
    c.set("a", "1", noreply=True)
    wanted("pymemcache: noreply", c.get("a") == b"1")
    c.quit()


def tools(server: Server) -> None:
    """libmemcached's."""
    at = f"127.0.0.1:{server.port}"
    for words, good in ((["memccapable", "-a", "-t", "60", "-h", "127.0.0.1", "-p", str(server.port)], "All tests passed"),
                        (["memcping", f"--servers={at}"], ""),
                        (["memcstat", f"--servers={at}"], "limit_maxbytes: 67108864"),
                        (["memcslap", f"--servers={at}", "--concurrency=8", "--execute-number=300", "--test=set"], "to load data|Time"),
                        (["memcslap", f"--servers={at}", "--concurrency=8", "--execute-number=300", "--test=get"], "Time"),
                        (["memcslap", f"--servers={at}", "--concurrency=4", "--execute-number=300", "--test=mget"], "Time"),
                        (["memcaslap", "-s", at, "-T", "2", "-c", "32", "-x", "20000", "-v", "0.1"], "TPS: [1-9]")):
        if shutil.which(words[0]) is None:
            skipped.add(f"{words[0]} (libmemcached-tools) is not installed")
            continue
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
        wanted(f"{' '.join(words)}: {done.returncode} {done.stdout[-600:]} {done.stderr[-600:]}",
               done.returncode == 0 and re.search(good, done.stdout))
        if words[0] == "memcaslap":
            for count in ("get_misses", "verify_misses", "verify_failed"):
                wanted(f"memcaslap: no {count}: {done.stdout[-800:]}", re.search(rf"{count}: 0\b", done.stdout))


def at_once(server: Server) -> None:
    """Nothing is lost of what several do to one entry, and a value belongs to its key."""
    answer(Client(server), b"flush_all\r\nset sum 0 0 1\r\n0\r\n")
    wrong: list[bytes] = []

    def works(number: int) -> None:
        c = Client(server)
        for i in range(30):
            c.sends(b"incr sum 1 noreply\r\n" * 20)
            key = b"k%d" % ((number + i) % 5)
            value = key * 1000
            got = answer(c, b"set %s 0 0 %d noreply\r\n%s\r\nget %s\r\n" % (key, len(value), value, key))
            if got != b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(value), value):
                wrong.append(got)

    threads = [threading.Thread(target=works, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    wanted(f"a value belongs to its key: {wrong[:1]}", not wrong)
    wanted("nothing is lost", answer(Client(server), b"get sum\r\n") == b"VALUE sum 0 4\r\n4800\r\nEND\r\n")


def leaves(server: Server) -> None:
    """Who goes in the middle of a value gives its memory back: 64 times 1 MB would not fit."""
    for _ in range(200):
        Client(server).sends(b"set gone 0 0 1000000\r\n" + b"x" * 100000).resets()
    c, until, said = Client(server), time.monotonic() + 60, b""
    while said != b"STORED\r\n" and time.monotonic() < until:      # when the server has seen them go
        said = answer(c, b"set gone 0 0 1000000\r\n" + b"x" * 1000000 + b"\r\n")
    wanted(f"there is memory again: {said!r}", said == b"STORED\r\n")
    c.sends(b"version\r\nquit\r\n")
    c.until(lambda got: got == b"VERSION 1.6.18\r\n")
    c.left = b""
    wanted("quit", c.ended())
    c = Client(server).sends(b"x" * 3000)
    wanted("a line without end", c.ended())


def large(server: Server) -> None:
    c = Client(server)
    answer(c, b"set large 0 0 200000\r\n" + b"x" * 200000 + b"\r\n")
    c.sends(b"quit\r\n").ended()        # who counts descriptors next finds none of this one


def rude(server: Server) -> None:
    """Half-open, slow, lying, not reading; and after each the next one is served."""
    stored, found = b"STORED\r\n", b"VALUE a 0 5\r\nvalue\r\nEND\r\n"
    c = Client(server)
    for byte in b"set a 0 0 5\r\nvalue\r\nget a\r\n":
        c.sends(bytes([byte]))
    c.until(lambda got: got == stored + found)
    c = Client(server).sends(b"get a\r\n" * 3)
    c.socket.shutdown(socket.SHUT_WR)
    c.until(lambda got: got == found * 3)
    c.left = b""
    wanted("half-closed: all answers, then the end", c.ended())
    for lie in (b"set a 0 0 3\r\nmore than that\r\n", b"set a 0 0 -1\r\n", b"set a 0 0 x\r\ny\r\n"):
        got = answer(Client(server), lie)
        wanted(f"{lie!r}: {got!r}", re.match(rb"(CLIENT_ERROR|SERVER_ERROR|ERROR)", got))
    Client(server).sends(b"set a 0 0 100\r\nless").resets()
    Client(server).sends(b"get a\r\n" * 1000).resets()
    large(server)
    before = resident(server)
    greedy = [Client(server, 0.5) for _ in range(4)]
    for c in greedy:
        try:
            while True:
                c.sends(b"get large\r\n" * 1000)
        except TimeoutError:
            pass
    more = resident(server) - before
    wanted(f"who does not read costs little: {more} KiB", more < 20 << 10)
    wanted("others are served beside them", answer(Client(server), b"version\r\n") == b"VERSION 1.6.18\r\n")
    for c in greedy:
        c.resets()


def impatient() -> None:
    """Who is silent, at the beginning, in a line, in a value, or does not read, is ended; who asks is not."""
    server = Server("--patience", "0.5")
    large(server)
    alone = idle(server, lambda c: answer(c, b""))
    silent = [Client(server).sends(text) for text in (b"", b"get a", b"set a 0 0 100\r\nless")]
    deaf, asks = Client(server).sends(b"get large\r\n" * 100), Client(server)
    start = before = time.monotonic()
    while time.monotonic() < start + 1.4:
        asked = time.monotonic()
        try:
            got = answer(asks, b"version\r\n")
        except (EOFError, ConnectionError):
            got = b""
        if not got:             # unless this machine has let nobody ask for as long as that
            wanted("who asks stays", time.monotonic() - before > 0.4)
            break
        before = asked          # of one that was answered: the server has heard it no earlier than that
        time.sleep(0.1)
    for c in silent:
        wanted("who is silent is ended", c.ended())
    comes_to(server, alone)
    got_of_it = 0
    try:
        while some := deaf.socket.recv(1 << 20):
            got_of_it += len(some)
    except ConnectionError:
        pass
    wanted("who does not read is ended", got_of_it < 100 * 200000)
    said = server.ends()
    wanted(f"counted: {said.get('counters')}", said["counters"]["silent_connections"] == 5)


def refuses() -> None:
    for words in (("--memory", "0"), ("--memory", "3"), ("--item", "1000"), ("--item", "x"), ("--memory", "4", "--item", "1048577")):
        done = subprocess.run([*program, *words], capture_output=True, text=True, timeout=120, check=False)
        wanted(f"{words}: {done.returncode} {done.stderr}", (done.returncode, len(done.stderr.splitlines())) == (2, 1))
    wanted(f"how much is enough: {done.stderr}", "5 MiB" in done.stderr)
    done = subprocess.run([*program, "--help"], capture_output=True, text=True, timeout=120, check=False)
    wanted(f"the help says so before: {done.stdout}", "four times --item" in done.stdout)


def main() -> int:
    for path in sys.argv[2:]:
        program[:] = [path]
        recorded(Path(sys.argv[1]))
        server = Server()
        library(server)
        tools(server)
        at_once(server)
        leaves(server)
        rude(server)
        said = server.ends()
        found = {s["metric"]: s["value"] for s in said.get("samples", [])}
        wanted(f"the record: {found} {said.get('counters')}", found.get("requests", 0) > 5000 and said["counters"]["hits"] > 200
               and said["counters"]["stores"] > 400)
        impatient()
        refuses()
    for why in sorted(skipped):
        print(f"skipped: {why}")
    print("\n".join(servers.faults) or "kvcache: ok")
    return 1 if servers.faults else 0


if __name__ == "__main__":
    sys.exit(main())
