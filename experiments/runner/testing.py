# SPDX-License-Identifier: MIT
"""The verb `test`: C suites through meson, the Python tests, the explorer's cases; one count."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import BinaryIO

from .arguments import Parser
from .build import first_error
from .errors import GOOD, USAGE, WRONG, Stop
from .progress import say

ROOT = Path(__file__).resolve().parents[2]
CASES = "dscheck/cases/run.sh"
#: explores all cases; nothing but `ok` of each will do, and the last line counts them
EXPLORE = ["check", "--jobs", "2", "--budget", "120s"]
#: builds that differ: each value of each build option, and what the compiler may do
VARIANTS: dict[str, list[str]] = {
    "stacks-mmap": ["-Dstacks=mmap"],
    "stacks-malloc": ["-Dstacks=malloc"],
    "stacks-split": ["-Dstacks=split"],
    "ucontext": ["-Dcontext=ucontext"],
    "utility": ["-Dsuspension=utility", "-Ddead=utility", "-Dtimers=wheel"],
    "lock": ["-Dsuspension=lock"],
    "lock-ticket": ["-Dlock=ticket", "-Dmutex=spin-block"],  # the lock inside the primitives, and what a mutex does
    "lock-park": ["-Dlock=park", "-Dmutex=baton"],
    "poller-fibre": ["-Dpoller=fibre"],
    "poller-thread": ["-Dpoller=thread"],
    "poller-uring": ["-Dpoller=uring"],
    "observe-off": ["-Dobserve=off"],
    "several": ["-Dschedulers=fifo,lifo,hybrid,sharded,multiq,staged,pushing,skeleton,yields"],
    "plugin": ["-Dschedulers=plugin,fifo"],
    "fixed": ["-Dschedulers=fifo:private=16:steal=one"],
    "preemption": ["-Dpreemption=true"],  # every 60 us, where the library is not linked in
    "debug": ["-Dbuildtype=debug"],
    "lto": ["-Doptimization=3", "-Db_lto=true"],
    "forced": ["-Dforce_migration=enabled"],
    "thread": ["-Dsanitize=thread"],  # with migration forced, so that all goes through the shared queue; and without:
    "thread-local": ["-Dsanitize=thread", "-Dforce_migration=disabled"],  # local queues, which others steal from
    "address": ["-Dsanitize=address"],
    "address-local": ["-Dsanitize=address", "-Dforce_migration=disabled"],
    "clang": ["-Dtimers=wheel"],
    "clang-lock": ["-Dsuspension=lock", "-Ddead=utility", "-Dstacks=malloc", "-Dcontext=ucontext"],
}
_PASSED, _SKIPPED = ("OK", "EXPECTEDFAIL"), ("SKIP",)
TAIL = 12  # lines that are told again of what failed
_failed: list[tuple[str, str]] = []  # and what it said: at the end, where who reads only the last lines finds it


def parser() -> Parser:
    out = Parser(
        "test",
        description="Build and run the tests. The last line counts test programs and scripts.",
        epilog="Exit codes: 0 all passed; 1 one failed; 2 it does not compile.")
    out.add_argument("--all", action="store_true",
                     help="the stress and long suites too, and the fast ones in every variant")
    only = out.add_mutually_exclusive_group()
    only.add_argument("--variant", choices=VARIANTS, metavar="NAME", help="C suites only, in "
                      f"a build with other options ({', '.join(VARIANTS)})")
    only.add_argument("--sanitize", choices=("address", "undefined", "thread", "valgrind"),
                     help="C suites only, built with this sanitizer, or run under valgrind")
    out.add_argument("--list", action="store_true", help="name the tests, run none")
    return out


def main(argv: list[str], root: Path = ROOT) -> int:
    args = parser().parse(argv)
    if args.variant:
        return _end(_variant(root, args.variant))
    folder = root / "build" / ("test-" + args.sanitize if args.sanitize else "test")
    _build(root, folder, args.sanitize, args.list)
    suites = ["fast", "stress", "long"] if args.all else ["fast"]
    chosen = [word for suite in suites for word in ("--suite", suite)]
    scripts = [] if args.sanitize else _scripts(root)
    if args.list:
        sys.stdout.flush()
        subprocess.run(["meson", "test", "-C", str(folder), "--no-rebuild", "--list", *chosen],
                       check=False, stderr=subprocess.DEVNULL)
        print("\n".join(" ".join([Path(c[0]).name, *c[1:]]) for c in scripts))
        if args.all:
            print("\n".join(f"variant {name}" for name in VARIANTS))
        return GOOD
    counts = _meson(folder, chosen, bool(args.sanitize))
    environment = {**os.environ, "TENTER_TEST_LONG": "1"} if args.all else None  # tests/py repeat more
    for command in scripts:
        code, said = _shown(command, root, environment)
        skipped = code == 77 and command[1:] != EXPLORE     # whose 77 is a case that cannot be explored
        counts["passed" if code == 0 else "skipped" if skipped else "failed"] += 1
        if code != 0 and not skipped:
            _failed.append((" ".join([Path(command[0]).name, *command[1:]]), said))
    if args.all and not args.sanitize:
        for name in VARIANTS:
            for key, number in _variant(root, name).items():
                counts[key] += number
    return _end(counts)


def _end(counts: dict[str, int]) -> int:
    sys.stderr.flush()
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    for name, said in _failed:
        print("\n".join([f"failed: {name}", *(f"    {line}" for line in said.splitlines()[-TAIL:])]))
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}", flush=True)
    return WRONG if counts["failed"] else GOOD


def _variant(root: Path, name: str) -> dict[str, int]:
    """The fast C suites in a build of its own, without those that are the same in each build."""
    compiler = name.partition("-")[0] if name.startswith("clang") else "gcc"
    if shutil.which(compiler) is None:
        say(f"variant {name}: no {compiler}: skipped")
        return {"passed": 0, "failed": 0, "skipped": 1}
    say(f"variant {name}: {' '.join(VARIANTS[name])}, {compiler}")
    folder = root / "build" / ("test-" + name)
    if not (folder / "build.ninja").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "tenter-build.log", "w+b") as log:
            try:
                _logged(["meson", "setup", str(folder), str(root), "-Dworkloads=false",
                         *VARIANTS[name]], log, {**os.environ, "CC": compiler})
            except Stop as problem:
                say(f"variant {name}: {problem}")
                return {"passed": 0, "failed": 1, "skipped": 0}
    # One that differs in where fibres wait only: for the suite of all modules. The others go by orders and by time.
    suite = ["conformance", "--no-suite", "stress"] if name.endswith("-local") else ["fast"]
    return _meson(folder, ["--suite", *suite, "--no-suite", "once"], any("sanitize" in o for o in VARIANTS[name]), True)


def _scripts(root: Path) -> list[list[str]]:
    out = [[sys.executable, "-m", "unittest", "discover", "-s", "tests/py"]]
    if (root / CASES).exists():
        out.append(["sh", CASES])
        if os.uname().machine == "x86_64":
            out.append([str(root / "tenter"), *EXPLORE])
    return out


def _build(root: Path, folder: Path, sanitizer: str | None, only_set_up: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    commands = [] if only_set_up else [["ninja", "-C", str(folder)]]
    if not (folder / "build.ninja").exists():
        option = [f"-Dsanitize={sanitizer}"] if sanitizer else []
        commands.insert(0, ["meson", "setup", str(folder), str(root), *option])
    with open(folder / "tenter-build.log", "w+b") as log:
        say(f"building {folder.relative_to(root)}")
        for command in commands:
            _logged(command, log)


def _shown(command: list[str], root: Path, environment: dict[str, str] | None) -> tuple[int, str]:
    """Its output is passed on as it comes; the exit code, and the last lines but those of what is `ok`, said before its
    name or behind it."""
    last: deque[str] = deque(maxlen=TAIL)
    with subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", flush=True)
            if "ok" not in line.split()[:2]:
                last.append(line)
    return running.returncode, "".join(last)


def _logged(command: list[str], log: BinaryIO, environment: dict[str, str] | None = None) -> None:
    if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                      check=False, env=environment).returncode != 0:
        raise Stop(f"it does not compile: {first_error(log)} (all of it in {log.name})", USAGE)


def _meson(folder: Path, chosen: list[str], slow: bool, build: bool = False) -> dict[str, int]:
    """Runs the C suites; counts come from meson's own log, one line a test program. With `build`
    it makes what these need, and no more, first."""
    record = folder / "meson-logs" / "testlog.json"
    record.unlink(missing_ok=True)
    # A hang is told by the harness, which goes by processor time: meson's clock must not be faster.
    more = ["--timeout-multiplier", "20" if slow else "10"]
    if not build:
        more.append("--no-rebuild")
    code = subprocess.run(["meson", "test", "-C", str(folder), "--print-errorlogs", *more, *chosen],
                          check=False).returncode
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    if record.exists():
        for line in record.read_text(encoding="utf-8", errors="replace").splitlines():
            test = json.loads(line)
            outcome = ("passed" if test["result"] in _PASSED else
                       "skipped" if test["result"] in _SKIPPED else "failed")
            counts[outcome] += 1
            if outcome == "failed":
                _failed.append((test["name"], "\n".join(filter(None, (test.get("stdout"), test.get("stderr"))))))
    if code != 0 and counts["failed"] == 0:
        counts["failed"] = 1                        # meson itself did not come to an end
    return counts
