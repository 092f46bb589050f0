#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where servers listen and whom the generator asks: both families, names, everywhere; and what is said where that cannot be.

    addresses.py LOADGEN SERVER...
"""
from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Iterator

ENV = {k: v for k, v in os.environ.items() if not k.startswith("TENTER_")}
NO_NAME = "n" * 64 + ".invalid"         # so long a label no server of names is asked for
NOWHERE = ("203.0.113.77", "2001:db8::77")      # for documents: no machine has them
REP = ("--json", "--warmup", "0", "--reps", "1", "--connections", "3")
BRIEF = (*REP, "--duration", "0.05")
faults: list[str] = []
loadgen = ""


def wanted(what: str, good: object) -> None:
    if not good:
        faults.append(what)


def has_six() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """With a bound: nothing waits for a name, an address or a connection for ever."""
    try:
        return subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, "", "does not end")


def refused(code: int, says: str, *command: str, lines: int = 1) -> None:
    """In one line that has these words (and one of loadgen's, of the server that it has started), and by this code."""
    done = run(*command)
    wanted(f"{' '.join(command)}: {done.returncode} {done.stderr}",
           done.returncode == code and says in done.stderr and len(done.stderr.splitlines()) == lines and done.stdout == "")


def copies(command: tuple[str, ...]) -> tuple[str, ...]:
    return ("--workers", "2") if "--copies" in command else ()


class Server:
    def __init__(self, *command: str) -> None:
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen([*command, *copies(command), "--json"], env=ENV, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stderr is not None
        self.line = self.process.stderr.readline()
        match = re.search(r"listening at (?:\[(.*)\]|([^\[:]*)):(\d+)$", self.line)
        self.host, self.port = (match[1] or match[2], int(match[3])) if match else ("", 0)

    def answers(self, host: str) -> bool:
        """There."""
        text = b"version\r\n" if "kvcache" in self.line else b"GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n"
        try:
            with socket.create_connection((host, self.port), 120) as c:
                c.sendall(text)
                return c.recv(100).startswith((b"VERSION ", b"HTTP/1.1 200"))
        except OSError:
            return False

    def ends(self) -> dict[str, Any]:
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=120)
        wanted(f"{self.line.strip()}: it ends well: {self.process.returncode} {err}", self.process.returncode == 0 and not err)
        said: dict[str, Any] = json.loads(out or "{}")
        return said


def speaks(command: str) -> tuple[str, ...]:
    return ("--protocol", "memcached", "--keys", "5") if "kvcache" in command else ()


def places(six: bool) -> Iterator[tuple[str, str, set[str]]]:
    """What is asked for, what is said, and from where of these it is reached."""
    yield "127.0.0.1", "127.0.0.1", {"127.0.0.1"}
    yield "127.0.0.9", "127.0.0.9", {"127.0.0.9"}
    yield "0.0.0.0", "0.0.0.0", {"127.0.0.1", "127.0.0.9"}
    if six:
        yield "::1", "::1", {"::1"}
        yield "::", "::", {"127.0.0.1", "127.0.0.9", "::1"}


def listens(server: list[str], six: bool) -> None:
    there = Server(*server)
    wanted(f"{server}: without --address: {there.line}", there.host == "127.0.0.1" and there.answers("127.0.0.1") and not there.answers("127.0.0.9"))
    there.ends()
    for asked, says, reached in places(six):
        there = Server(*server, "--address", asked)
        seen = {host for host in ("127.0.0.1", "127.0.0.9", "::1") if there.answers(host)}
        wanted(f"{server} --address {asked}: {there.line} {seen}", there.host == says and seen == reached)
        for host in sorted(reached):
            done = run(loadgen, *BRIEF, "--port", str(there.port), "--host", host, *speaks(server[0]))
            said = json.loads(done.stdout or "{}")
            wanted(f"{server} --address {asked}, --host {host}: {done.stderr} {said.get('message')}",
                   said.get("status") in ("ok", "saturated") and said["params"]["host"] == host)
        params = there.ends().get("params", {})
        wanted(f"{server} --address {asked}: the record has it: {params}", (params.get("address"), params.get("port")) in (
            (says, there.port), (asked, 0) if "-go" in server[0] else ()))
        done = run(loadgen, *BRIEF, "--server", " ".join([*server, "--address", asked]), *copies(tuple(server)), *speaks(server[0]))
        said = json.loads(done.stdout or "{}")
        wanted(f"{server} --address {asked}, started by loadgen: {done.stderr} {said.get('message')}",
               said.get("status") in ("ok", "saturated") and said["params"]["host"] in reached)
    there = Server(*server, "--address", "localhost")
    wanted(f"{server} --address localhost: {there.line}", there.host in ("127.0.0.1", "::1") and there.answers(there.host))
    there.ends()
    words = ("assign", "assign", NO_NAME) if "-go" in server[0] else ("no such address", "no such address", f'--address "{NO_NAME}": ')
    for asked, says in zip((*NOWHERE, NO_NAME), words):
        refused(77, says if six or ":" not in asked else "", *server, "--address", asked)
    refused(2, "--address", *server, "--address", "")


class Listener:
    """Takes one connection after the other, answers each request, and keeps what it was asked and from where."""

    def __init__(self, host: str) -> None:
        self.listener = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.port = self.listener.getsockname()[1]
        self.asked: set[bytes] = set()
        self.sources: set[str] = set()
        threading.Thread(target=self.accepts, daemon=True).start()

    def accepts(self) -> None:
        while True:
            try:
                c, source = self.listener.accept()
            except OSError:             # closed
                return
            self.sources.add(source[0])
            threading.Thread(target=self.serves, args=(c,), daemon=True).start()

    def serves(self, c: socket.socket) -> None:
        try:
            while text := c.recv(1000):
                self.asked |= set(re.findall(rb"Host: (.*)\r\n", text))
                c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" * text.count(b"\r\n\r\n"))
        except OSError:
            pass


def asks(six: bool) -> None:
    """The name goes into the request; connections come from 127.0.0.x where that can be."""
    for host, listens_at in (("localhost", "127.0.0.1"), ("127.0.0.9", "127.0.0.9"), *((("::1", "::1"),) if six else ())):
        name = f"[{host}]" if ":" in host else host
        there = Listener(listens_at)
        generators = ["own", "wrk"] if shutil.which("wrk") else ["own"]
        for who in generators:
            there.asked.clear()
            done = run(loadgen, *(BRIEF if who == "own" else REP), "--port", str(there.port), "--host", host, "--generator", who)
            with_port = f"{name}:{there.port}" if who == "wrk" else name
            wanted(f"--host {host}, {who}: {done.stderr} {there.asked}", done.returncode == 0 and there.asked == {with_port.encode()})
        there.sources.clear()
        words = (loadgen, *BRIEF, "--port", str(there.port), "--host", host, "--addresses", "3")
        if host == "::1":
            refused(2, "--addresses are those of 127.0.0.x", *words)
        else:
            done = run(*words)
            wanted(f"from three addresses to {host}: {done.stderr} {there.sources}", there.sources == {"127.0.0.1", "127.0.0.2", "127.0.0.3"})
        there.listener.close()


def in_vain(server: str, six: bool) -> None:
    refused(77, f'--host "{NO_NAME}": ', loadgen, "--port", "9", "--host", NO_NAME)
    refused(77, f'--address "{NO_NAME}": ', loadgen, "--server", f"{server} --address {NO_NAME}", lines=2)
    refused(77, "no such address", loadgen, "--server", f"{server} --address {NOWHERE[0]}", lines=2)
    refused(2, '--host "": ', loadgen, "--port", "9", "--host", "")
    refused(2, "--host has no meaning with --server", loadgen, "--server", server, "--host", "::1")
    if six:
        refused(99, "it is of a link", loadgen, "--port", "9", "--host", "fe80::1")
        refused(77, "it is of a link", server, "--address", "fe80::1")
    # A backlog that is full answers nobody: the system would try for two minutes.
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waits = [socket.socket() for _ in range(3)]
        for c in waits:
            c.setblocking(False)
            c.connect_ex(full.getsockname())
        port = str(full.getsockname()[1])
        for words in ((), ("--protocol", "memcached")):
            refused(99, f"to 127.0.0.1:{port}: Connection timed out", loadgen, "--port", port, "--timeout", "0.3", *words)
        for c in waits:
            c.close()


def apart(server: str) -> None:
    """In a namespace of its own: names with two addresses, and then no IPv6."""
    there = Server(server, "--address", "10.77.0.1")
    refused(2, "--addresses are those of 127.0.0.x", loadgen, "--port", str(there.port), "--host", "10.77.0.1", "--addresses", "2")
    there.ends()
    with tempfile.NamedTemporaryFile("w", suffix="hosts") as hosts:
        hosts.write("::1 both\n127.0.0.1 both\n")
        hosts.flush()
        if subprocess.run(["mount", "--bind", hosts.name, "/etc/hosts"], check=False, capture_output=True).returncode != 0:
            print("addresses: names with two addresses are left out: /etc/hosts cannot be another here")
        else:
            with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
                there = Server(server, "--address", "both", "--port", str(taken.getsockname()[1]))
            wanted(f"the first address is taken: {there.line}", there.host == "127.0.0.1")
            done = run(loadgen, *BRIEF, "--port", str(there.port), "--host", "both")
            wanted(f"nobody is at the first address: {done.stderr}", json.loads(done.stdout or '{"params": {}}')["params"].get("host") == "127.0.0.1")
            there.ends()
            there = Server(server, "--address", "both")
            wanted(f"both are free: {there.line}", there.host == "::1")
            there.ends()
        for switch in ("conf/all/disable_ipv6", "bindv6only"):
            Path(f"/proc/sys/net/ipv6/{switch}").write_text("1", encoding="ascii")
        refused(77, "or IPv6 is switched off", server, "--address", "::1")
        refused(77, "or IPv6 is switched off", loadgen, "--port", "9", "--host", "::1")
        there = Server(server, "--address", "::")
        wanted(f"everywhere, without IPv6: {there.line}", there.host == "::" and there.answers("127.0.0.1"))
        there.ends()


def in_namespace(server: str, six: bool) -> None:
    inside = ["unshare", "-rmn", "sh", "-c", 'ip link set lo up && ip address add 10.77.0.1/32 dev lo && exec "$@"', "-", sys.executable, __file__, "--apart", loadgen, server]
    if not six or run("unshare", "-rmn", "ip", "link").returncode != 0:
        print("addresses: without IPv6, and names with two addresses: left out, as there are no namespaces here, or no ::1")
        return
    done = run(*inside)
    wanted(f"in a namespace: {done.stdout} {done.stderr}", done.returncode == 0)


def main() -> int:
    global loadgen                      # pylint: disable=global-statement
    loadgen, *servers = [word for word in sys.argv[1:] if word != "--apart"]
    if "--apart" in sys.argv:
        apart(servers[0])
    else:
        six = has_six()
        for path in servers:
            for server in [path], [path, "--copies"]:
                if len(server) == 1 or path.endswith("-event"):
                    listens(server, six)
        asks(six)
        ours = next(path for path in servers if not re.search("kvcache|-go", Path(path).name))
        in_vain(ours, six)
        in_namespace(ours, six)
        if not six:
            print("addresses: this machine has no ::1: of IPv6 all is left out")
    print("\n".join(faults) or "addresses: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
