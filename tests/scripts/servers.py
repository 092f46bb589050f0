#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The web server with each front-end: what it answers, and that no client, however it behaves, keeps it from the others.

    servers.py [--stress] HTTPD...
"""
from __future__ import annotations

import json
import os
import random
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

ENV = {k: v for k, v in os.environ.items() if not k.startswith("TENTER_")}
PLAIN = b"GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n"
faults: list[str] = []
program: list[str] = []


def wanted(what: str, good: object) -> None:
    if not good:
        faults.append(f"{' '.join(program)}: {what}")


class Server:
    """One that runs; `files`: the most descriptors that it may have."""

    def __init__(self, *words: str, files: int | None = None) -> None:
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))) if files else None
        # pylint: disable=subprocess-popen-preexec-fn,consider-using-with
        self.process = subprocess.Popen([*program, "--json", "--workers", "2", *words], env=ENV, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        match = re.search(r"listening at 127\.0\.0\.1:(\d+)$", line)
        if match is None:
            raise SystemExit(f"{program}: {line}{self.process.stderr.read()}")
        self.port = int(match[1])

    def connect(self, timeout: float = 120) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def descriptors(self) -> int:
        every = [self.process.pid, *children(self.process.pid)]
        return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in every)

    def ends(self) -> dict[str, Any]:
        self.process.send_signal(signal.SIGTERM)
        try:
            out, err = self.process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            wanted("ends at SIGTERM", False)
            return {}
        wanted(f"ends well at SIGTERM: {self.process.returncode} {err}", self.process.returncode == 0 and not err)
        said: dict[str, Any] = json.loads(out)
        return said


def children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


class Client:
    def __init__(self, server: Server, timeout: float = 120) -> None:
        self.socket = server.connect(timeout)
        self.left = b""

    def sends(self, text: bytes) -> "Client":
        self.socket.sendall(text)
        return self

    def until(self, enough: Callable[[bytes], bool]) -> None:
        while not enough(self.left):
            some = self.socket.recv(1 << 16)
            if not some:
                raise EOFError
            self.left += some

    def answer(self, head_only: bool = False) -> tuple[int, dict[str, str], bytes]:
        """Status, fields, body."""
        self.until(lambda text: b"\r\n\r\n" in text)
        head, _, self.left = self.left.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        fields = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}
        n = 0 if head_only else int(fields["content-length"])
        self.until(lambda text: len(text) >= n)
        body, self.left = self.left[:n], self.left[n:]
        return int(first.split()[1]), fields, body

    def status(self, request: bytes) -> int:
        return self.sends(request).answer()[0]

    def ended(self) -> bool:
        """Has the server closed it, with nothing more to read?"""
        try:
            return self.left == b"" and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def resets(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def get(path: str, more: str = "", method: str = "GET", version: str = "1.1") -> bytes:
    return f"{method} {path} HTTP/{version}\r\nHost: a\r\n{more}\r\n".encode()


def answers(server: Server, folder: Path) -> None:
    c = Client(server)
    status, fields, body = c.sends(PLAIN).answer()
    wanted("the text", (status, body, fields["content-type"]) == (200, b"Hello, world!", "text/plain"))
    for path in ("http://a/plaintext", "/plaintext?q=1", "/%70laintext"):
        wanted(f"the text at {path}", c.sends(get(path)).answer()[2] == b"Hello, world!")
    large = (folder / "sub/large.bin").read_bytes()
    wanted("a large file", c.sends(get("/sub/large.bin")).answer()[2] == large)
    status, fields, body = c.sends(get("/page.html")).answer()
    wanted("a small file", (status, body, fields["content-type"]) == (200, b"<p>", "text/html"))
    wanted("an empty file", c.sends(get("/empty")).answer()[0::2] == (200, b""))
    status, fields, body = c.sends(get("/page.html", method="HEAD")).answer(head_only=True)
    wanted("HEAD", (status, fields["content-length"]) == (200, "3"))
    for path in ("/none", "/sub", "/sub/", "/", "//etc/passwd", "/../" + folder.name + "/page.html", "/sub/../page.html",
                 "/%2e%2e/etc/passwd", "/sub%2f..%2fpage.html", "/link", "/linked/large.bin", "/fifo", "/page.html/x"):
        wanted(f"404 for {path}", c.status(get(path)) == 404)
    for request, status in ((get("/plaintext", method="DELETE"), 405), (get("/%zz"), 400), (get("/%00"), 400),
                            (get("/" + "a" * 1100), 414),
                            (get("/plaintext", "Content-Length: 5\r\n", "POST") + b"12345", 405),
                            (get("/plaintext", "Transfer-Encoding: chunked\r\n", "POST") + b"3\r\nabc\r\n0\r\n\r\n", 405),
                            (get("/plaintext", "Upgrade: h2c\r\nConnection: Upgrade\r\n"), 200)):
        wanted(f"{status} for {request[:40]!r}", c.status(request) == status)
    wanted("kept alive through all that", c.status(PLAIN) == 200)
    for request in (get("/plaintext", "Connection: close\r\n"), get("/page.html", "Connection: close\r\n"),
                    get("/sub/large.bin", version="1.0"), get("/plaintext", version="1.0")):
        c = Client(server)
        wanted("closed as asked for", c.status(request) == 200 and c.ended())
    c = Client(server)
    kept = get("/plaintext", "Connection: keep-alive\r\n", version="1.0")
    wanted("kept as asked for", c.sends(kept).answer()[1].get("connection") == "keep-alive" and c.status(kept) == 200)


def pipelined(server: Server, folder: Path) -> None:
    """Answers come in the order of requests, files among them, however the requests are cut."""
    large = (folder / "sub/large.bin").read_bytes()
    whole = (PLAIN * 7 + get("/sub/large.bin") + get("/page.html") + get("/none")) * 20
    for size in (len(whole), 1000, 37):
        c = Client(server)
        for at in range(0, len(whole), size):
            c.sends(whole[at:at + size])
        bodies = [c.answer()[2] for _ in range(200)]
        wanted(f"in order, in pieces of {size}",
               bodies == ([b"Hello, world!"] * 7 + [large, b"<p>", b"404 Not Found"]) * 20)
    c = Client(server)
    c.sends(PLAIN * 20000)
    wanted("20 000 at once", all(c.answer()[0] == 200 for _ in range(20000)))


def lying(server: Server) -> None:
    for request, status in ((b"nonsense\r\n\r\n", 400), (b"\x00" * 100, 400),
                            (get("/plaintext", "Content-Length: 3\r\nContent-Length: 4\r\n", "POST") + b"123", 400),
                            (get("/plaintext", "Content-Length: -1\r\n"), 400),
                            (b"GET /plaintext HTTP/1.1\r\n\r\n", 400), (get("/plaintext", "Host: b\r\n"), 400),
                            (get("/plaintext", "X : a\r\n"), 400), (get("/plaintext", version="1.2"), 505),
                            (get("/plaintext", version="2.0"), 505), (b"GET /plaintext\r\n\r\n", 505),
                            (get("/plaintext", "Content-Length: 99999999999999999999\r\n"), 400),
                            (get("/plaintext", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "POST"), 400),
                            (get("/plaintext", "Transfer-Encoding: chunked\r\n", "POST") + b"zz\r\n", 400),
                            (get("/plaintext", "A: " + "b" * 9000 + "\r\n"), 431),
                            (get("/plaintext", "Content-Length: 1\r\n", "POST") + b"1more than that\r\n\r\n", 405)):
        c = Client(server)
        wanted(f"{status} for {request[:60]!r}", c.status(request) == status)
        if status == 405:
            wanted("what is too much is no request", c.answer()[0] == 400)
        c.socket.shutdown(socket.SHUT_WR)
        wanted(f"ended after {request[:60]!r}", c.ended())
    c = Client(server)      # it sends on and on, and sees what is wrong all the same
    try:
        for _ in range(200):
            c.sends(b"\x01" * 10000)
    except OSError:
        pass
    wanted("the answer is seen", c.answer()[0] == 400)


def rude(server: Server) -> None:
    """Half-open, resetting, slow, not reading; and after each the next one is served."""
    c = Client(server)
    c.sends(PLAIN * 3).socket.shutdown(socket.SHUT_WR)
    wanted("half-closed: all answers, then the end", [c.answer()[0] for _ in range(3)] == [200] * 3 and c.ended())
    Client(server).sends(PLAIN[:20]).resets()
    Client(server).sends(PLAIN * 100).resets()
    c = Client(server).sends(get("/sub/large.bin") * 50)
    c.until(lambda text: len(text) > 1000)
    c.resets()
    Client(server).socket.close()
    c = Client(server)
    for i in range(len(PLAIN)):
        c.sends(PLAIN[i:i + 1])
        time.sleep(0.002)
    wanted("slow: served", c.answer()[0] == 200)
    before = resident(server)
    greedy = [Client(server, 0.5) for _ in range(4)]
    start = time.monotonic()
    for c in greedy:
        try:
            while True:
                c.sends(get("/sub/large.bin") * 100)
        except TimeoutError:
            pass
        except ConnectionError:     # after its patience: this machine has let nobody go on for as long as that
            wanted("who does not read stays for a while", time.monotonic() - start > 25)
    more = resident(server) - before
    wanted(f"who does not read costs little: {more} KiB", more < 20 << 10)
    wanted("others are served beside them", Client(server).status(PLAIN) == 200)
    for c in greedy:
        c.resets()


def resident(server: Server) -> int:
    total = 0
    for pid in (server.process.pid, *children(server.process.pid)):
        match = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
        total += int(match[1]) if match else 0
    return total


def fuzz(server: Server) -> None:
    pieces = [PLAIN, get("/page.html", method="HEAD"), get("/a", "Content-Length: 4\r\n", "POST") + b"abcd",
              get("/a", "Transfer-Encoding: chunked\r\n", "PUT") + b"4\r\nabcd\r\n0\r\nX: y\r\n\r\n", get("/sub/large.bin")]
    chance = random.Random(1)
    for _ in range(300):
        text = bytearray(b"".join(chance.choice(pieces) for _ in range(chance.randrange(1, 6))))
        for _ in range(chance.randrange(6)):
            at = chance.randrange(len(text))
            text[at:at + chance.randrange(3)] = bytes(chance.randrange(256) for _ in range(chance.randrange(3)))
            text = text or bytearray(b"x")
        c = Client(server)
        try:
            c.sends(bytes(text)).socket.shutdown(socket.SHUT_WR)
            while c.socket.recv(1 << 16):
                pass
        except ConnectionError:
            pass
    wanted("alive after what is no HTTP", Client(server).status(PLAIN) == 200)


def comes_to(server: Server, n: int) -> None:
    """When it has no more descriptors than that; or not for two minutes."""
    until = time.monotonic() + 120
    while server.descriptors() > n and time.monotonic() < until:
        time.sleep(0.05)


def idle(server: Server, asks: Callable[[Client], object] = lambda c: c.status(PLAIN)) -> int:
    """The descriptors that it has with nobody there, as now."""
    c = Client(server)
    asks(c)
    n = server.descriptors() - 1
    c.socket.close()
    comes_to(server, n)
    return n


def storm(server: Server, n: int, most: int) -> None:
    """n connections come and go at random, `most` of them at once; none leaves a descriptor behind."""
    before, chance = server.descriptors(), random.Random(2)
    live: list[Client] = []
    for _ in range(2 * n):
        if live and (len(live) >= most or chance.random() < 0.5):
            c = live.pop(chance.randrange(len(live)))
            chance.choice((c.resets, c.socket.close))()
        else:
            live.append(Client(server))
            live[-1].sends(chance.choice((b"", PLAIN[:9], PLAIN, PLAIN * 9, get("/sub/large.bin"))))
    for c in live:
        c.socket.close()
    for last in [Client(server) for _ in range(8)]:     # who is served after all of them: nobody is still to be accepted
        wanted("served after a storm", last.status(PLAIN) == 200)
        last.socket.close()
    comes_to(server, before)
    wanted(f"no descriptor is left: {before} before, {server.descriptors()} after", server.descriptors() <= before)


def storms(folder: Path) -> None:
    """Six times 10 000 connections at once, and as many that come and go: no fibre is lost, and no byte once all is warm."""
    server = Server("--files", str(folder))
    held = []
    for _ in range(6):
        crowd = [Client(server).sends(PLAIN) for _ in range(10000 if not children(server.process.pid) else 5000)]
        for c in crowd:
            c.socket.close()
        storm(server, 10000, 500)
        held.append(resident(server))
    # of threads' stacks and arenas more or fewer are kept each time: the most of two against the most of three before
    wanted(f"no byte is lost: {held} KiB", max(held[4:]) < 1.1 * max(held[1:4]))
    counted = server.ends().get("counters", {})
    wanted(f"no fibre is lost: {counted}", abs(counted.get("spawn", 0) - counted.get("exit", 0)) <= 2)


def impatient(folder: Path) -> None:
    server = Server("--patience", "0.5", "--files", str(folder))
    alone = idle(server)
    silent, lies = Client(server), Client(server)
    half, trickle = Client(server).sends(PLAIN[:20]), Client(server)
    lies.sends(get("/plaintext", "Content-Length: 1000\r\n", "POST"))
    served = Client(server)
    deaf = Client(server).sends(get("/sub/large.bin") * 100)
    start = before = time.monotonic()
    gone = False
    while time.monotonic() < start + 1.4:
        asked = time.monotonic()
        try:
            if not gone:
                trickle.sends(b"E")
        except OSError:
            gone = True
        try:
            status = served.status(PLAIN)
        except (EOFError, ConnectionError):
            status = 0
        if status != 200:       # unless this machine has let nobody ask for as long as that
            wanted("who asks stays", time.monotonic() - before > 0.4)
            break
        before = asked          # of one that was answered: the server has heard it no earlier than that
        time.sleep(0.1)
    for name, c in (("silent", silent), ("half a request", half), ("less than it said", lies)):
        c.socket.settimeout(120)
        wanted(f"{name}: ended", c.ended())
    trickle.socket.settimeout(120)
    try:
        while trickle.socket.recv(100):
            pass
    except ConnectionError:
        pass
    got = 0
    comes_to(server, alone)     # to a thread each bit that it takes before its time is over is progress
    try:
        deaf.socket.settimeout(120)
        while some := deaf.socket.recv(1 << 20):
            got += len(some)
    except ConnectionError:
        pass
    wanted("who does not read is ended", got < 100 * 200000)
    said = server.ends()
    wanted(f"counted: {said.get('counters')}", said["counters"]["silent_connections"] == 6)


def slow(folder: Path) -> None:
    """Who takes little at a time of what the system has long been given is not ended: its bytes are progress, though nothing can be sent."""
    server = Server("--patience", "1", "--files", str(folder))
    c = socket.socket()
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
    c.connect(("127.0.0.1", server.port))
    c.sendall(get("/sub/large.bin") * 100)
    start = last = time.monotonic()
    longest = 0.0
    while last < start + 5:
        c.recv(1000)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
        time.sleep(0.02)
    said = server.ends()
    c.close()
    if longest < 0.5:           # else this machine has let nobody take any for long
        wanted(f"who takes a little stays: {said.get('counters')}", said["counters"]["silent_connections"] == 0)


def slow_then_asks(folder: Path) -> None:
    """Who has taken an answer for longer than the patience, and then thinks for less, is served: the last byte was progress."""
    server = Server("--patience", "1", "--files", str(folder))
    for chunk in (1 << 13, 1 << 16):        # all of it is on its way early, or not before it is nearly taken
        c = Client(server)
        c.socket.close()
        c.socket = socket.socket()
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, chunk)
        c.socket.connect(("127.0.0.1", server.port))
        c.socket.settimeout(120)
        n = 20 if chunk == 1 << 16 else 4
        c.sends(get("/sub/large.bin") * n)
        left, start = n * 200000, time.monotonic()
        size, longest, last = left // 300, 0.0, start
        while left > 0:
            left -= len(c.socket.recv(size))
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
            time.sleep(max(0.0, start + 2 * (1 - left / (n * 200000)) - last))
        c.left = b""
        took = time.monotonic() - start
        c.socket.settimeout(0.4)
        try:
            while c.socket.recv(1 << 16):   # the heads of the answers, which were not counted
                last = time.monotonic()
            ended = True
        except TimeoutError:
            ended = False
        c.socket.settimeout(120)
        try:
            status = 0 if ended else c.status(PLAIN)
        except (EOFError, ConnectionError):
            status = 0
        if longest < 0.4 and time.monotonic() - last < 0.9:     # else this machine has let nobody ask for long
            wanted(f"who took {took:.1f} s for an answer, and asks again {time.monotonic() - last:.1f} s later, is served", status == 200)
        c.socket.close()
    server.ends()


def short_of_descriptors(folder: Path) -> None:
    # Patience: each round of looking below may take 8 s, in which who was served is silent.
    server = Server("--files", str(folder), "--patience", "600", files=48 if "--copies" not in program else 28)
    there = [Client(server, 0.1).sends(PLAIN) for _ in range(80)]
    served: list[Client] = []
    until = time.monotonic() + 120
    while len(served) < 10 and time.monotonic() < until:
        for c in there:
            try:
                if c not in served and c.answer()[0] == 200:
                    served.append(c)
            except TimeoutError:
                pass
    wanted(f"some are served: {len(served)}", 10 <= len(served) < 80)
    served[0].socket.settimeout(120)
    wanted("no descriptor, no file", served[0].status(get("/page.html")) in (200, 503))
    wait = [c for c in there if c not in served]
    for c in served:
        c.socket.close()
    for c in wait[:20]:
        c.socket.settimeout(120)
        wanted("who waited is served when others have gone", c.answer()[0] == 200)
    server.ends()


def refuses() -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    for words, code in ((("--port", "70000"), 2), (("--files", "/no/such/place"), 2), (("--nonsense", "1"), 2),
                        (("--patience", "0"), 2), (("--port", str(taken.getsockname()[1])), 77)):
        done = subprocess.run([*program, *words], env=ENV, capture_output=True, text=True, timeout=120, check=False)
        wanted(f"{words}: {done.returncode} {done.stderr}", (done.returncode, len(done.stderr.splitlines())) == (code, 1))
    taken.close()
    done = subprocess.run([*program, "--help"], env=ENV, capture_output=True, text=True, timeout=120, check=False)
    wanted(f"the help says what has no effect: {done.stdout}", "whatever --warmup and --reps" in done.stdout)


def one(folder: Path) -> None:
    server = Server("--files", str(folder))
    answers(server, folder)
    pipelined(server, folder)
    lying(server)
    rude(server)
    fuzz(server)
    storm(server, 750, 750)
    waits = [Client(server) for _ in range(10)]     # they are there when it ends
    said = server.ends()
    wanted("they are told", all(c.ended() for c in waits))
    found = {s["metric"]: s["value"] for s in said.get("samples", [])}
    wanted(f"the record: {found}", found.get("requests", 0) > 20600 and found.get("connections", 0) > 1000
           and found.get("cpu", 0) > 0)
    said = Server().ends()
    wanted("nothing was asked for: no processor time of a request",
           [s["value"] for s in said["samples"] if s["metric"] in ("requests", "connections")] == [0, 0])
    server = Server("--work", "1000000", "--every", "3")
    one_by_one, at_once = Client(server), Client(server).sends(PLAIN * 8)
    wanted("all are answered", [one_by_one.status(PLAIN) for _ in range(10)] + [at_once.answer()[0] for _ in range(8)] == [200] * 18)
    said = server.ends()
    wanted(f"each third computes: {said.get('counters')}", said["counters"]["computed"] == 18 // 3)
    impatient(folder)
    slow(folder)
    slow_then_asks(folder)
    short_of_descriptors(folder)
    refuses()


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sub").mkdir()
        (folder / "sub/large.bin").write_bytes(random.Random(3).randbytes(200000))
        (folder / "page.html").write_text("<p>", encoding="utf-8")
        (folder / "empty").touch()
        (folder / "link").symlink_to("page.html")
        (folder / "linked").symlink_to("sub")
        os.mkfifo(folder / "fifo")
        stress = sys.argv[1] == "--stress"
        for path in sys.argv[1 + stress:]:
            ways: list[list[str]] = [[], ["--copies"]] if path.endswith("-event") else [[]]
            for words in ways:
                program[:] = [path, *words]
                (storms if stress else one)(folder)
    print("\n".join(faults) or "servers: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
