# SPDX-License-Identifier: MIT
"""One exploration: options for the checker, its run, its answer, and the shortest failing execution at hand."""
from __future__ import annotations

import argparse
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

from . import check_build as build
from . import check_report as report
from .errors import GOOD, INCOMPLETE, INTERNAL, UNSUPPORTED, USAGE, WRONG, Stop

CODES = {"ok": GOOD, "bug": WRONG, "incomplete": INCOMPLETE, "unsupported": UNSUPPORTED}
#: The bounded search for a failing execution with fewer switches: preemptions, and seconds for each number of them.
_PREEMPTIONS, _EACH = 3, "1"


def _seconds(text: str) -> float | None:
    """10s, 5m, 1h in seconds; None: it is no time."""
    found = re.fullmatch(r"(\d*\.?\d+)([smh])", text)
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]] if found and float(found[1]) > 0 else None


def _budget(text: str) -> list[str]:
    seconds = _seconds(text)
    if seconds is None and not re.fullmatch(r"[1-9]\d*", text):
        raise Stop(f"--budget {text}: a time (10s, 5m, 1h) or a number of executions")
    return ["--budget", text] if seconds is None else ["--seconds", str(seconds)]


def _going_on(args: argparse.Namespace) -> list[str]:
    """What says where the search begins, how far it goes, and who does it."""
    out = _budget(args.budget) if args.budget else []
    out += ["--jobs", str(args.jobs), *(["--shard", args.shard] if args.shard else [])]
    if args.checkpoint:
        interval = _seconds(args.interval or "10s")
        if interval is None:
            raise Stop(f"--interval {args.interval}: a time, as 10s or 5m")
        out += ["--checkpoint", args.checkpoint, "--interval", str(interval), *(["--resume"] if args.resume else [])]
    return out + (["--progress"] if sys.stderr.isatty() else [])


def options_of(args: argparse.Namespace) -> list[str]:
    out = ["--reuse", args.reuse, "--seed", str(args.seed or 0)]
    for name in ("retry_as_await", "spurious_cas", "spurious_wake", "malloc_fail"):
        if getattr(args, name):
            out.append("--" + name.replace("_", "-"))
    if args.strategy != "exhaustive":
        out += ["--strategy", args.strategy]
    if args.bound is not None:
        out += ["--bound", str(args.bound)]
    if args.events is not None:
        out += ["--events", str(args.events)]
    return out


def explore(files: list[Path], cflags: list[str], args: argparse.Namespace, shorten: bool = False) -> report.Answer:
    """That it cannot be explored is an answer too, whoever sees it: the build, or the checker before it begins."""
    try:
        return _explored(files, cflags, args, shorten)
    except Stop as error:
        if error.code != UNSUPPORTED:
            raise
        return report.Answer("unsupported", {"kind": "unsupported", "message": str(error)}, message=str(error))


def _explored(files: list[Path], cflags: list[str], args: argparse.Namespace, shorten: bool) -> report.Answer:
    checker = build.checker()
    image = build.image(files, cflags)
    try:
        options = [*of_replay(Path(args.replay)), "--schedule", args.replay] if args.replay else options_of(args) + _going_on(args)
        if args.gdb:
            _gdb([str(checker), str(image), *options])
        answer = _execute(checker, image, options)
        if args.replay and answer.verdict == "ok" and "departed" in answer.values:
            answer.verdict = "incomplete"           # some other execution, of which nobody had asked
        if answer.verdict == "ok" and args.bound is not None and not args.replay:
            answer.verdict = "incomplete"           # all schedules of so few preemptions, and no others
            answer.values["bounded"] = "1"
        if answer.verdict == "bug" and not args.replay and answer.steps:
            answer = _again(checker, image, answer, options_of(args))
            if shorten:
                answer = _shorter(checker, image, answer, args)
        if args.shard:
            answer.values["exploration"] = build.digest(image, options_of(args))
        if args.keep:
            answer.image = image.read_bytes()
        return answer
    finally:
        image.unlink(missing_ok=True)


def _gdb(command: list[str]) -> None:
    """A debugger on the checker; the code under test is loaded later, so breakpoints in it are pending until then."""
    if shutil.which("gdb") is None:
        raise Stop("--gdb needs the package gdb")
    subprocess.run(["gdb", "-q", "-iex", "set breakpoint pending on", "-ex", "break in_bug", "-ex",
                    "echo run stops where the failure is found: bt shows the thread that finds it.\\n", "--args", *command],
                   check=False)


def _execute(checker: Path, image: Path, options: list[str]) -> report.Answer:
    """Runs the checker.  It ends by itself after Ctrl-C, which reaches it too; a SIGTERM is handed on."""
    build.fixed_addresses()
    with subprocess.Popen([str(checker), str(image), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE if
                          "--progress" not in options else None, text=True) as child:
        before = None
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        try:
            out, said = child.communicate()
        except KeyboardInterrupt:
            out, said = child.communicate()
        finally:
            if before is not None:
                signal.signal(signal.SIGTERM, before)
        if child.returncode != 0:
            last = (said or "").strip().splitlines()
            raise Stop(last[-1] if last else f"the checker ended with {child.returncode}",
                       child.returncode if child.returncode in (USAGE, UNSUPPORTED) else INTERNAL)
        sys.stderr.write(said or "")
    return report.parse(out, image)


def _again(checker: Path, image: Path, answer: report.Answer, options: list[str]) -> report.Answer:
    """The same failure in the order that the checker found shortest, if that order shows it."""
    replay = Path(str(image) + ".replay")
    replay.write_text(report.replay_text(answer, []), encoding="utf-8")
    try:
        again = _execute(checker, image, [*options, "--schedule", str(replay)])
    finally:
        replay.unlink(missing_ok=True)
    if again.verdict == "bug" and again.values.get("kind") == answer.values.get("kind"):
        for key in ("executions", "blocked", "seconds", "startup", "kib", "interrupted"):
            if key in answer.values:
                again.values[key] = answer.values[key]
        return again
    answer.values["unstable"] = "1"
    return answer


def _shorter(checker: Path, image: Path, answer: report.Answer, args: argparse.Namespace) -> report.Answer:
    """A bounded search for the same kind of failure with few preemptions, for a little while.  When all schedules of
    fewer were tried, it is known that there is none."""
    if args.bound is not None or answer.values.get("kind") == "unbounded loop":
        return answer
    options = [o for o in options_of(args) if o not in ("--strategy", args.strategy)]
    for preemptions in range(_PREEMPTIONS):
        found = _execute(checker, image, [*options, "--bound", str(preemptions), "--seconds", _EACH])
        if found.verdict == "ok":
            continue
        if found.verdict == "bug" and found.values.get("kind") == answer.values.get("kind"):
            found = _again(checker, image, found, [*options, "--bound", str(preemptions)])
            shorter = "unstable" in answer.values or report.switched(found) <= report.switched(answer)
            if "unstable" not in found.values and shorter:
                for key in ("executions", "blocked", "seconds", "startup", "kib"):
                    found.values[key] = answer.values.get(key, "0")
                answer = found
            answer.values["preemptions"] = str(preemptions)
        break
    return answer


def of_replay(file: Path) -> list[str]:
    """The options that the execution was found with."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise Stop(f"there is no {file}") from None
    except (OSError, UnicodeDecodeError):
        lines = []
    found = [line for line in lines[:2] if line.startswith("# options: --reuse ")]
    ended = lines[-1:] == [f"# {len(lines) - 4} steps"]
    if not found or not ended or any(not re.match(r"\d+ \d+  # ", line) for line in lines[3:-1]):
        raise Stop(f"{file} is no replay file, or not all of one")
    return shlex.split(found[0].partition(":")[2])


def bound(args: argparse.Namespace) -> str | None:
    """What was left out, or taken for granted; code 0 says that nothing was but what an option asks for."""
    if args.replay:
        return "one execution"
    out = []
    if args.strategy == "random":
        out.append("random")
    elif args.bound is not None:
        out.append(("pct, " if args.strategy == "pct" else "") + f"at most {report.count(args.bound, 'preemption')}")
    if args.shard:
        out.append(f"part {args.shard}")
    out += ["retries as awaits"] if args.retry_as_await else []
    out += ["no exchange fails for no reason twice in a row"] if args.spurious_cas else []
    out += ["no block used again"] if args.reuse == "off" else []
    return ", ".join(out) or None


def line(answer: report.Answer, limits: str | None, args: argparse.Namespace) -> str:
    n, blocked = int(answer.number("executions")), int(answer.number("blocked"))
    model = ", ".join(["sc", *([limits] if limits else [])])
    done = report.count(n, "execution") + (f", {blocked} blocked" if blocked else "") + f", {answer.number('seconds'):.2f} s"
    if "bounded" in answer.values:
        return f"nothing wrong found under {model}: {done}; that is no proof"
    if answer.verdict == "ok":
        word = "nothing wrong found" if args.shard or args.replay else "ok"
        return f"{word} under {model}: {done}"
    if answer.verdict == "incomplete" and args.replay:
        return (f"incomplete under {model}: not what {args.replay} holds: it goes another way at step "
                f"{answer.values['departed']}, since the program or its options have changed; nothing wrong on this way")
    if answer.verdict == "incomplete":
        rest = "; a process was killed (out of memory?)" if "lost" in answer.values else ""
        if args.checkpoint and Path(args.checkpoint).exists():
            rest += f"; to go on: the same with --checkpoint {args.checkpoint} --resume"
        return f"incomplete under {model}: {done}; nothing wrong in what was explored{rest}"
    if answer.verdict == "unsupported":
        return f"unsupported under {model}: {answer.message}"
    return f"{answer.verdict} under {model}: {report.sentence(answer)} ({done})"
