# SPDX-License-Identifier: MIT
"""Holds `./tenter check` against the enumerator, on random programs.

For each program: the verdict; if it is good, the number of executions, that none was blocked (unless
there are awaits), that no outcome comes up but those that the enumerator found, and that one of
these, drawn at random, does come up when it is forbidden.  A program on which they differ is made
smaller for as long as they do.
"""
from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable, Iterator

from .generate import generate, waits
from .program import Critical, If, Source, Statement, Value
from .search import Found, TooMany, interleave

ROOT = Path(__file__).resolve().parents[2]
UNSUPPORTED = 77
WAITS = ("deadlock", "livelock", "lost wake-up")


class NoChecker(Exception):
    """This tree has no verb `check`."""


@dataclass(frozen=True)
class Checker:
    """Runs `command`, the words before the file, on a source."""
    command: tuple[str, ...] = (str(ROOT / "tenter"), "check")
    seconds: float = 120

    def available(self) -> bool:
        done = subprocess.run([*self.command, "--help"], capture_output=True, check=False)
        return done.returncode == 0

    def verdict(self, text: str, *flags: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "program.c"
            path.write_text(text, encoding="utf-8")
            try:
                done = subprocess.run([*self.command, str(path), "--json", "-", "--", *flags],
                                      capture_output=True, text=True, timeout=self.seconds,
                                      check=False)
            except subprocess.TimeoutExpired:
                return {"verdict": f"none in {self.seconds:.0f} s"}
        try:
            out = json.loads(done.stdout)
            return out if isinstance(out, dict) else {"verdict": f"no object: {done.stdout[:200]}"}
        except ValueError:
            said = (done.stderr or done.stdout).strip()[-300:]
            return {"verdict": f"no JSON, status {done.returncode}: {said}"}


def text_of(source: Source, found: Found, name: str) -> str:
    what = [word for word, true in (("a race", found.race), ("stuck", found.stuck)) if true]
    return source.c(source.digests(found),
                    f"{name}: {', '.join(what) or f'{found.executions} executions'}")


def difference(source: Source, found: Found, checker: Checker, seed: int) -> str | None:
    """In words; None if there is none."""
    text = text_of(source, found, f"seed {seed}")
    got = checker.verdict(text)
    kinds = (("data race", "race") if found.race else ()) + (WAITS if found.stuck else ())
    if kinds:
        if got["verdict"] != "bug" or got.get("kind") not in kinds:
            return f"expected a bug ({kinds[0]}), got {_short(got)}"
        return None
    # A wait that was over and is made to wait again, and one of several operations: the search may
    # make an execution that it gives up.  Elsewhere nothing is blocked.
    blocked = got.get("blocked") and not found.retries and not source.awaits()
    if got["verdict"] != "ok" or got.get("executions") != found.executions or blocked:
        return f"expected {found.executions} executions, got {_short(got)}"
    if not found.executions:
        return None                     # all were refused
    never = random.Random(seed).choice(source.digests(found))
    got = checker.verdict(text, f"-DNEVER={never}U")
    if got["verdict"] != "bug" or got.get("kind") != "assertion":
        return f"outcome {never} was not found: {_short(got)}"
    return None


def _short(got: dict[str, Any]) -> str:
    words = [f"{key} {got[key]}" for key in ("verdict", "kind", "executions", "blocked", "message")
             if got.get(key) not in (None, "")]
    return ", ".join(words)


# ---- smaller programs ----

def _bodies(body: tuple[Statement, ...]) -> Iterator[tuple[Statement, ...]]:
    """The same with something left out or made simpler."""
    for i, statement in enumerate(body):
        rest = body[:i], body[i + 1:]
        yield rest[0] + rest[1]
        if isinstance(statement, (If, Critical)):
            yield rest[0] + statement.body + rest[1]
            for inner in _bodies(statement.body):
                yield rest[0] + (replace(statement, body=inner),) + rest[1]
        value = getattr(statement, "value", None)
        if isinstance(value, Value) and value != Value(1):
            yield rest[0] + (replace(statement, value=Value(1)),) + rest[1]


def smaller(source: Source) -> Iterator[Source]:
    threads = source.threads
    for t in range(len(threads)):
        if len(threads) > 2:
            yield replace(source, threads=threads[:t] + threads[t + 1:])
        for body in _bodies(threads[t]):
            yield replace(source, threads=threads[:t] + (body,) + threads[t + 1:])
    if source.main_runs_first:
        yield replace(source, main_runs_first=False)
    if source.c11_threads:
        yield replace(source, c11_threads=False)


def smallest(source: Source, differs: Any) -> Source:
    """Takes the first smaller program that still differs, again and again."""
    while True:
        for candidate in smaller(source):
            if differs(candidate):
                source = candidate
                break
        else:
            return source


# ---- many ----

def compare(seeds: range, steps: int, checker: Checker, keep: Path | None,
            program: Callable[[int], Source] = generate) -> tuple[int, int, int]:
    """How many agree, differ, and were too large to enumerate."""
    if not checker.available():
        raise NoChecker("there is no './tenter check' here: nothing was compared")
    agree = differ = large = 0
    for seed in seeds:
        source = program(seed)
        try:
            words = difference(source, interleave(source.program(), steps), checker, seed)
        except TooMany:
            large += 1
            continue
        if words is None:
            agree += 1
            continue
        differ += 1
        print(f"seed {seed}: {words}", flush=True)

        def differs(candidate: Source, seed: int = seed) -> bool:
            try:
                found = interleave(candidate.program(), steps)
            except (TooMany, KeyError):             # KeyError: a register that nothing sets now
                return False
            return difference(candidate, found, checker, seed) is not None
        least = smallest(source, differs)
        found = interleave(least.program(), steps)
        text = text_of(least, found, f"seed {seed}, made smaller")
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"seed-{seed}.c").write_text(text, encoding="utf-8")
        else:
            print(text)
        print(f"seed {seed}, made smaller: {difference(least, found, checker, seed)}", flush=True)
    return agree, differ, large


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m dscheck.oracle", allow_abbrev=False, description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit codes: 0 all agree; 1 some differ; 77 there is no checker here.")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="default 0")
    parser.add_argument("--count", type=int, default=1000, help="of programs; default 1000")
    parser.add_argument("--steps", type=int, default=20000,
                        help="of the enumerator, after which a program is too large; default 20000")
    parser.add_argument("--keep", type=Path, metavar="DIR",
                        help="where the smaller programs go; else they are printed")
    parser.add_argument("--waits", action="store_true",
                        help="programs that mostly wait, which may end executions as blocked")
    parser.add_argument("--print", action="store_true",
                        help="print the first program as C, and compare nothing")
    args = parser.parse_args(argv)
    program = waits if args.waits else generate
    if args.print:
        source = program(args.first)
        print(text_of(source, interleave(source.program()), f"seed {args.first}"), end="")
        return 0
    try:
        seeds = range(args.first, args.first + args.count)
        agree, differ, large = compare(seeds, args.steps, Checker(), args.keep, program)
    except NoChecker as none:
        print(f"skipped: {none}", file=sys.stderr)
        return UNSUPPORTED
    print(f"{agree} agree, {differ} differ, {large} too large to enumerate")
    return 1 if differ else 0
