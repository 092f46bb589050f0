#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The generator against servers whose behaviour is known, and against our own.

    loadgen.py LOADGEN [SERVER...]
"""
from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

ENV = {k: v for k, v in os.environ.items() if not k.startswith("TENTER_")}
FAKE = Path(__file__).parent / "fake_server.py"
faults: list[str] = []


def wanted(what: str, good: object) -> None:
    if not good:
        faults.append(what)


def run(program: str, *words: str, code: int = 0, reps: int = 1) -> dict[str, Any]:
    command = [program, "--json", "--hist", "--warmup", "0", "--reps", str(reps), *words]
    done = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != code:
        faults.append(f"{' '.join(command)}: exit {done.returncode}, not {code}: {done.stderr.strip()} {done.stdout[-500:]}")
        return {}
    if not done.stdout:
        wanted(f"{' '.join(command)}: not one line: {done.stderr}", len(done.stderr.strip().splitlines()) == 1)
        return {}
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def value(said: dict[str, Any], metric: str) -> float:
    found = [float(s["value"]) for s in said.get("samples", []) if s["metric"] == metric]
    return found[0] if found else -1.0


class Fake:
    """A mode of fake_server.py, and what it has seen in the last run."""

    def __init__(self, program: str, folder: str) -> None:
        self.program, self.path = program, Path(folder) / "seen"
        self.seen: dict[str, Any] = {}

    def run(self, mode: str, *words: str, code: int = 0, reps: int = 1) -> dict[str, Any]:
        self.path.unlink(missing_ok=True)
        said = run(self.program, "--server", f"{sys.executable} {FAKE} {mode} {self.path}", *words, code=code, reps=reps)
        self.seen = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}
        return said


def closed(fake: Fake) -> None:
    said = fake.run("good", "--connections", "5", "--duration", "0.5", "--path", "/x?y")
    answered = sum(n for _low, _high, n in said["hist"]["latency"]["buckets"])
    wanted("closed load is so called", said["load"] == "closed" and said["status"] == "ok")
    asked = fake.seen["requests"] - 5       # the first of each connection does not count
    wanted(f"all that was asked is in the latencies: {answered} of {asked}", answered == asked)
    wanted(f"as many as were answered: {value(said, 'throughput')}", 0 <= answered - value(said, "throughput") / 2 <= 5)
    wanted("five connections", fake.seen["connections"] == 5)
    median, p90, greatest = (value(said, f"latency_{name}") for name in ("median", "p90", "greatest"))
    wanted(f"percentiles: {median} {p90} {greatest}", 0 < median <= p90 <= greatest or answered < 100)
    wanted("what was asked for", fake.seen["texts"] == ["GET /x?y HTTP/1.1\r\nHost: 127.0.0.1"])
    wanted("what the server says of itself", said["binary"]["runtime"] == "fake")
    wanted("processor time and memory of the server", value(said, "cpu") > 0 and value(said, "memory") >= 0)
    said = fake.run("good", "--connections", "2", "--depth", "8", "--duration", "0.3", "--workers", "3", "--pin")
    wanted(f"eight at once: {fake.seen['most']}", fake.seen["most"] == 8)
    wanted("the server is told", said["binary"]["words"] == ["--workers", "3", "--pin", "--print-config"])
    said = fake.run("good", "--connections", "4", "--per-connection", "3", "--duration", "0.3", "--threads", "2")
    wanted("three requests a connection, the last says so",
           abs(fake.seen["requests"] / 3 - fake.seen["connections"]) <= 4 and fake.seen["closes"] * 3 <= fake.seen["requests"])
    wanted("no error in it", value(said, "errors") == 0)
    said = fake.run("once", "--connections", "2", "--duration", "1")
    wanted("who is closed on comes again", value(said, "throughput") > 0 and fake.seen["connections"] > 2)
    fake.run("good", "--connections", "9", "--addresses", "3", "--duration", "0.1")
    wanted(f"from three addresses: {fake.seen['addresses']}",
           sorted(fake.seen["addresses"]) == ["127.0.0.1", "127.0.0.2", "127.0.0.3"])


def opened(fake: Fake) -> None:
    for arrivals in ("poisson", "pareto", "constant"):
        said = fake.run("good", "--rate", "400", "--duration", "1.5", "--arrivals", arrivals, "--threads", "2", "--connections", "7")
        n = sum(n for _low, _high, n in said["hist"]["latency"]["buckets"])
        wanted(f"{arrivals}: 600 arrivals, not {n}", 480 <= n <= 720 and n == fake.seen["requests"] - 7)
        wanted(f"{arrivals}: open load", said["load"] == "open" and "late" in said["hist"])
    # A pause of 0.4 s: under open load all that was due meanwhile has waited, under closed load one request a connection. Each second one
    # that was due has waited longer than 0.2 s; a request that is as late as that for another reason would be no fault of the generator.
    said = fake.run("stall", "--rate", "500", "--duration", "1.5", "--connections", "4")
    late = sum(n for low, _high, n in said["hist"]["latency"]["buckets"] if low > 200e6)
    wanted(f"what was due in a pause has waited: {late}", late > 60)
    said = fake.run("stall", "--duration", "1.5", "--connections", "4")
    late = sum(n for low, _high, n in said["hist"]["latency"]["buckets"] if low > 200e6)
    wanted(f"closed load does not see it: {late}", 1 <= late <= 20)
    # Of so few that chance decides how many become due: as many as that have to be answered, and not as many as --rate says.
    fewer = 0
    for seed in range(1, 9):
        said = fake.run("good", "--rate", "60", "--duration", "0.5", "--connections", "3", "--seed", str(seed))
        due, got = value(said, "due"), value(said, "throughput")
        fewer += due < 0.95 * 60
        wanted(f"seed {seed}: {got}/s of {due}: {said.get('status')}",
               said.get("status") == ("saturated" if got < 0.95 * due else "ok"))
    wanted("chance made them fewer, now and then", fewer > 0)
    # No program in Python answers that many.
    said = fake.run("good", "--rate", "1e6", "--duration", "0.2", "--connections", "2", "--timeout", "0.5")
    wanted(f"fallen behind: {said.get('status')}", said.get("status") == "saturated")
    n = sum(n for _low, _high, n in said["hist"]["latency"]["buckets"])
    wanted(f"what was never answered is in the latencies: {n}, {value(said, 'timeouts')}", 180000 < n < 220000 and value(said, "timeouts") > 0)
    said = fake.run("good", "--rate", "500", "--skew", "2", "--connections", "50", "--duration", "0.5")
    wanted("skewed: some connections have nothing to do, and are there", fake.seen["connections"] == 50)


def held_up(fake: Fake) -> None:
    """The generator is stopped, and goes on when it should have ended: what was due meanwhile is asked, late, and counted."""
    command = [fake.program, "--json", "--hist", "--warmup", "0", "--reps", "1", "--rate", "500", "--duration", "2", "--arrivals", "constant",
               "--connections", "4", "--timeout", "60", "--server", f"{sys.executable} {FAKE} good {fake.path}"]
    with subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE) as process:
        time.sleep(1)
        process.send_signal(signal.SIGSTOP)
        time.sleep(2.5)
        process.send_signal(signal.SIGCONT)
        said = json.loads(process.communicate(timeout=120)[0])
    n = sum(n for _low, _high, n in said["hist"]["latency"]["buckets"])
    wanted(f"held up: 1000 arrivals, not {n}", 990 <= n <= 1000)
    command = [fake.program, "--json", "--warmup", "0", "--reps", "1", "--duration", "0.2", "--connections", "2", "--timeout", "60",
               "--protocol", "memcached", "--keys", "20000", "--server", f"{sys.executable} {FAKE} memcached {fake.path}"]
    with subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE) as process:     # mostly while it stores
        for _ in range(40):
            time.sleep(0.03)
            process.send_signal(signal.SIGSTOP)
            process.send_signal(signal.SIGCONT)
        said = json.loads(process.communicate(timeout=120)[0])
    wanted(f"held up again and again: {said.get('message')}", said["status"] == "ok")


def wrong(fake: Fake) -> None:
    said = fake.run("deaf", "--connections", "3", "--duration", "0.3", "--timeout", "0.5", code=1, reps=3)
    wanted(f"nothing answered: {said.get('message')}", said.get("status") == "invalid" and "wrong --protocol" in said["message"])
    wanted("and not asked again", fake.seen["requests"] == 3 and not said.get("samples"))
    said = fake.run("mum", "--connections", "3", "--duration", "0.3", "--timeout", "0.5")
    wanted(f"given up: {value(said, 'timeouts')}", value(said, "timeouts") == 3 and value(said, "throughput") == 0)
    wanted("for as long as they have waited", value(said, "latency_greatest") >= 0.5e9)
    said = fake.run("broken", "--connections", "3", "--duration", "1")
    wanted("a broken answer is an error, and not the end", value(said, "errors") >= 2 and value(said, "throughput") > 0)
    said = fake.run("error", "--duration", "0.2", "--connections", "1", code=1)
    wanted(f"errors alone: {said.get('message')}", said.get("status") == "invalid" and "HTTP/1.1 404 Not Found; another --path" in said["message"])
    said = fake.run("gone", "--duration", "0.5", "--connections", "2", code=1)
    wanted(f"gone: {said.get('message')}", said.get("status") == "invalid" and "ended with code 3 in repetition 1 of 1" in said["message"])
    said = fake.run("deaf", "--protocol", "memcached", "--timeout", "0.5", code=1)
    wanted(f"no key stored: {said.get('message')}", said.get("status") == "invalid" and "wrong --protocol" in said["message"])


def nonsense(fake: Fake) -> None:
    """What is no answer, or none at all, ends the run at once, and not after --duration or --timeout: neither of which a test would outlive."""
    patient = ("--duration", "80000", "--timeout", "3600", "--connections", "5", "--threads", "2")
    for mode, words, says in (
            ("nonsense", (), 'received "nonsensenon'), ("shut", (), "closed without an answer"),
            ("shut", ("--protocol", "memcached"), "does not store, and ends the connection"), ("later", (), 'received "nonsense'),
            ("nonsense", ("--protocol", "memcached", "--keys", "1"), 'received "nonsensenon'),
            ("memcached", (), 'received "ERROR"')):
        said = fake.run(mode, *patient, *words, code=1, reps=3)
        wanted(f"{mode} {words}: {said.get('message')}", said.get("status") == "invalid" and says in said["message"] and "--protocol?" in said["message"])
    said = fake.run("later", "--duration", "0.05", "--connections", "1", "--rate", "1000", "--timeout", "3600", code=1, reps=100)
    wanted(f"later: {said.get('message')}", 'received "nonsense' in str(said.get("message")))
    wanted("what was measured before is kept", {s["rep"] for s in said.get("samples", []) if s["metric"] == "throughput" and s["value"] > 0} >= {0})


def ends(fake: Fake) -> None:
    """The server is killed or stopped in the third repetition: what was measured in two is there, with what happened."""
    for mode, says in (("killed", "was killed by signal 9 in repetition 3 of 4"), ("stopped", "nothing was answered in repetition 3 of 4")):
        said = fake.run(mode, "--connections", "2", "--duration", "0.3", "--timeout", "1", code=1, reps=4)
        wanted(f"{mode}: {said.get('message')}", said.get("status") == "invalid" and says in said["message"])
        answered = {s["rep"] for s in said.get("samples", []) if s["metric"] == "throughput" and s["value"] > 0}
        wanted(f"{mode}: what was measured before is kept: {answered}", answered == {0, 1})


def catches(pid: int, number: int) -> bool:
    """Has the process a handler for that signal by now?"""
    caught = re.search(r"^SigCgt:\s*(\w+)$", text_of(Path(f"/proc/{pid}/status")).decode(), re.M)
    return caught is not None and int(caught[1], 16) >> (number - 1) & 1 == 1


def interrupted(fake: Fake) -> None:
    """By Ctrl-C or kill: the repetitions before are there, what happened is said, and the server has ended."""
    for number, words in ((signal.SIGINT, ("--duration", "0.2")), (signal.SIGTERM, ("--duration", "0.2")), (signal.SIGTERM, ("--generator", "wrk", "--duration", "60"))):
        if "wrk" in words and not shutil.which("wrk"):
            continue
        mark = f"/no/such/place/{os.getpid()}-{number}"
        command = [fake.program, "--json", "--hist", "--warmup", "0", "--reps", "90000", "--connections", "3",
                   "--server", f"{sys.executable} {FAKE} good {mark}", *words]
        # pylint: disable-next=subprocess-popen-preexec-fn
        with subprocess.Popen(command, env=ENV, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None) as process:
            until = time.monotonic() + 60
            while not catches(process.pid, number) and process.poll() is None and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(1.5)
            process.send_signal(number)
            try:
                out, err = process.communicate(timeout=100)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
        said = json.loads(out) if out else {}
        match = re.fullmatch(rf"was stopped by signal {int(number)} in repetition (\d+) of 90000", str(said.get("message")))
        wanted(f"{number.name} {words}: {process.returncode} {said.get('message')} {err}", process.returncode == 1 and match and said["status"] == "invalid")
        reps = {s["rep"] for s in said.get("samples", []) if s["metric"] == "throughput"}
        wanted(f"{number.name} {words}: the repetitions before: {len(reps)}", match and reps == set(range(int(match[1]) - 1)))
        left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in text_of(p)]
        wanted(f"{number.name}: left behind: {left}", not left)


def no_servers(program: str) -> None:
    """What never says what it is, or its port, is not waited for for ever, and is gone then."""
    asked = []
    for mode, code, says in (("mute", 2, "not said what it is"), ("nameless", 99, "not named a port"), ("chatty", 99, "not named a port")):
        mark = f"/no/such/place/{os.getpid()}-{mode}"
        command = [program, "--server", f"{sys.executable} {FAKE} {mode} {mark}", "--timeout", "0.2"]
        # pylint: disable-next=consider-using-with
        asked.append((mode, mark, code, says, subprocess.Popen(command, env=ENV, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)))
    for mode, mark, code, says, process in asked:
        try:
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            wanted(f"{mode}: still waited for", False)
        lines = [line for line in err.splitlines() if line != "chatty"]
        wanted(f"{mode}: {process.returncode} {out} {lines}", process.returncode == code and out == "" and len(lines) == 1 and says in lines[0])
        left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in text_of(p)]
        wanted(f"{mode}: left behind: {left}", not left)


def text_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:     # it has ended
        return b""


def memcached(fake: Fake) -> None:
    said = fake.run("memcached", "--protocol", "memcached", "--keys", "100", "--connections", "3", "--duration", "0.5",
                    "--sizes", "etc", "--writes", "0.3", "--depth", "4", "--key-skew", "1")
    share = (fake.seen["sets"] - 100) / (fake.seen["requests"] - 100)
    wanted(f"a share of sets: {share}", 0.1 < share < 0.5)
    wanted("every key is there", value(said, "misses") == 0 and value(said, "errors") == 0 and said["status"] == "ok")


def ours(program: str, servers: list[str]) -> None:
    debians = subprocess.run([Path(program).parent / "httpd-nginx", "--print-config"], capture_output=True, check=False)
    for path in servers + (["httpd-nginx"] if debians.returncode == 0 else []):
        speaks = ("--protocol", "memcached", "--keys", "50") if "kvcache" in path else ()
        said = run(program, "--server", path, "--connections", "20", "--depth", "4", "--duration", "0.3", "--apart", *speaks)
        wanted(f"{path}: {said.get('message')}", value(said, "throughput") > 0 and value(said, "errors") == 0)
        said = run(program, "--server", Path(path).name, "--per-connection", "1", "--duration", "0.3", "--connections", "5",
                   *speaks)
        wanted(f"{path}, short: {said.get('message')}", value(said, "throughput") > 0 and value(said, "errors") == 0)
    said = run(program, "--server", "httpd-bare", "--connections", "20", "--duration", "0.3", "--calls") if servers else {}
    if servers and "calls" not in said["unavailable"]:
        wanted(f"two system calls a request, and a share of looking: {value(said, 'calls')}", 2 <= value(said, "calls") < 3.2)
    if servers and os.geteuid() == 0:
        try:
            done = subprocess.run([program, "--json", "--server", "httpd-bare", "--duration", "0.1", "--reps", "1", "--warmup", "0", "--calls"],
                                  env=ENV, user=65534, capture_output=True, text=True, timeout=120, check=False)
            why = json.loads(done.stdout)["unavailable"].get("calls") if done.stdout else done.stderr
            wanted(f"who is not root: {why}", why is None or "to root alone" in why or "lets nobody" in why)
        except PermissionError:         # the build is in a place that nobody else may enter
            pass
    if servers and shutil.which("wrk"):
        said = run(program, "--server", "httpd-bare", "--generator", "wrk", "--connections", "20", "--apart")
        wanted(f"wrk as a witness: {said}", value(said, "throughput") > 0 and value(said, "cpu") > 0 and value(said, "latency_median") > 0
               and value(said, "errors") == 0)
    answer = [path for path in servers if not Path(path).name.startswith("httpd-bare")]  # which wait for a blank line
    for path in answer + (["httpd-nginx"] if debians.returncode == 0 else []):      # each spoken to as the other
        speaks = () if "kvcache" in path else ("--protocol", "memcached")
        said = run(program, "--server", path, "--duration", "80000", "--timeout", "3600", *speaks, code=1)
        wanted(f"{path} {speaks}: {said.get('message')}", 'received "' in str(said.get("message")) and "wrong --protocol?" in said["message"])
    if servers:
        said = run(program, "--server", "httpd-bare", "--rate", "5e6", "--depth", "1024", "--duration", "0.3",
                   "--timeout", "1")
        wanted(f"its own fault: {said.get('message')}", "the generator was the bottleneck" in str(said.get("message"))
               and re.search(r"busy for (9[5-9]|100) %", said["message"]) is not None)


def limited(program: str) -> None:
    """The server gets what its quota says, and no group is left behind."""
    words = ("--server", "httpd-bare", "--quota", "0.1", "--duration", "1", "--connections", "50", "--timeout", "5")
    command = [program, "--json", "--warmup", "0", "--reps", "1", *words]
    done = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode == 77:           # nobody lets us
        wanted(f"no quota: {done.stderr}", len(done.stderr.splitlines()) == 1)
        return
    said = json.loads(done.stdout)
    share = value(said, "cpu") * value(said, "throughput") / 1e9
    wanted(f"a tenth of a processor: {share}", 0 < share < 0.2)
    left = [p for top in ("cpu", ".") for p in (Path("/sys/fs/cgroup") / top).glob("tenter-*")]
    wanted(f"no group is left: {left}", not left)


def lacks(program: str) -> None:
    """Without descriptors it says whose limit that is."""
    few = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
    # pylint: disable-next=subprocess-popen-preexec-fn
    done = subprocess.run([program, "--server", "httpd-bare", "--connections", "200", "--reps", "1", "--warmup", "0"],
                          env=ENV, capture_output=True, text=True, timeout=120, check=False, preexec_fn=few)
    said = [line for line in done.stderr.splitlines() if line.startswith("loadgen")]
    wanted(f"40 descriptors: {done.returncode} {done.stderr}", done.returncode == 77 and len(said) == 1 and "ulimit -Hn" in said[0])


def refuses(program: str) -> None:
    for server in ("true", "echo"):     # neither is a server, and one says something
        done = subprocess.run([program, "--server", server], env=ENV, capture_output=True, text=True, timeout=120, check=False)
        wanted(f"{server}: {done.returncode} {done.stderr}", done.returncode == 2 and "before it named a port" in done.stderr
               and len(done.stderr.splitlines()) == 1)
    for words in (("--duration", "1"), ("--server", "x", "--port", "1"), ("--server", "/no/such/program"),
                  ("--port", "9", "--writes", "0.1"), ("--port", "9", "--skew", "1"), ("--port", "9", "--arrivals", "pareto"),
                  ("--port", "9", "--protocol", "memcached", "--path", "/"), ("--port", "9", "--scheduler", "fifo"),
                  ("--port", "9", "--protocol", "memcached", "--sizes", "etc", "--key-size", "20"),
                  ("--port", "9", "--quota", "1"), ("--port", "9", "--calls"), ("--port", "9", "--generator", "wrk", "--duration", "0.5"),
                  ("--port", "9", "--generator", "wrk", "--depth", "2"), ("--port", "9", "--threads", "2", "--connections", "1"), ("--server", " ")):
        done = subprocess.run([program, *words], env=ENV, capture_output=True, text=True, timeout=120, check=False)
        wanted(f"{words}: {done.returncode} {done.stderr}", (done.returncode, len(done.stderr.splitlines())) == (77 if "/no/such/program" in words else 2, 1))
    for word, meant in (("--portt", "; did you mean --port?"), ("--copies", " (--help")):      # --sizes has little of that
        done = subprocess.run([program, word], env=ENV, capture_output=True, text=True, timeout=120, check=False)
        wanted(f"{word}: {done.stderr}", done.returncode == 2 and f"no option {word}{meant}" in done.stderr)
    with socket.create_server(("127.0.0.1", 0)) as closed_port:
        port = closed_port.getsockname()[1]
    done = subprocess.run([program, "--port", str(port)], env=ENV, capture_output=True, text=True, timeout=120, check=False)
    wanted(f"nobody there: {done.stderr}", done.returncode == 99 and "refused" in done.stderr)


def debians_own(program: str) -> None:
    """The scripts that start Debian's servers tell what is wrong as ours do, and serve a directory that is named from here."""
    beside = Path(program).resolve().parent
    for name in ("httpd-nginx", "kvcache-memcached"):
        for words, code in ((["--help"], 0), (["--port", "abc"], 2), (["--port", "70000"], 2), (["--workers", ""], 2), (["--bogus"], 2)):
            done = subprocess.run([beside / name, *words], env=ENV, capture_output=True, text=True, timeout=120, check=False)
            said = done.stderr if code else done.stdout
            wanted(f"{name} {words}: {done.returncode} {said}", done.returncode == code and said.startswith(f"{name}: ")
                   and (code == 0 or len(said.splitlines()) == 1))
    if subprocess.run([beside / "httpd-nginx", "--print-config"], capture_output=True, check=False).returncode != 0:
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "files").mkdir()
        (Path(folder) / "files" / "here").write_text("found")
        done = subprocess.run([beside / "httpd-nginx", "--files", "none"], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        wanted(f"no such directory: {done.stderr}", done.returncode == 2 and "--files none" in done.stderr)
        server = subprocess.Popen([beside / "httpd-nginx", "--files", "files", "--workers", "0"], cwd=folder, stderr=subprocess.PIPE, text=True)
        line = server.stderr.readline() if server.stderr else ""
        try:
            port = line.rsplit(":", 1)[-1].strip()
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/here", timeout=60) as answer:
                wanted("a directory that is named from here", answer.read() == b"found")
            done = subprocess.run([beside / "httpd-nginx", "--port", port], capture_output=True, text=True, timeout=120, check=False)
            wanted(f"taken: {done.stderr}", done.returncode == 77 and "in use" in done.stderr)
        except (OSError, ValueError) as reason:
            wanted(f"{line}: {reason}", False)
        server.terminate()
        server.communicate(timeout=120)


def main() -> int:
    program, *servers = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        fake = Fake(program, folder)
        closed(fake)
        opened(fake)
        held_up(fake)
        wrong(fake)
        nonsense(fake)
        ends(fake)
        interrupted(fake)
        memcached(fake)
    ours(program, servers)
    debians_own(program)
    limited(program)
    lacks(program)
    no_servers(program)
    refuses(program)
    print("\n".join(faults) or "loadgen: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
