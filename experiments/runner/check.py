# SPDX-License-Identifier: MIT
"""The verb `check`: explores every interleaving of C11 programs, and shows the one that fails."""
from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

from .arguments import Parser
from . import check_build as build
from . import check_report as report
from .errors import GOOD, INCOMPLETE, INTERNAL, INTERRUPTED, UNSUPPORTED, USAGE, WRONG, Stop, nearest
from .progress import say

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "dscheck" / "cases"
_CODES = {"ok": GOOD, "bug": WRONG, "incomplete": INCOMPLETE, "unsupported": UNSUPPORTED}


def parser() -> Parser:
    out = Parser(
        "check",
        usage="./tenter check [FILE.c ... | CASE ...] [options] [-- CFLAGS ...]",
        description="Explore every interleaving of an ordinary C11 program with pthreads or C11 threads. Without a "
                    "file: the cases of dscheck/cases; a case by its name: queue:mpmc-ring.",
        epilog="Exit codes: 0 nothing wrong; 1 a bug; 2 usage, or it does not compile; 3 not everything was "
               "explored; 77 it cannot be explored; 130 interrupted. Docs: docs/checking.md.")
    out.add_argument("what", nargs="*", help=argparse.SUPPRESS)
    out.add_argument("--model", choices=("sc",), default="sc", help="sequential consistency: every atomic is seq_cst")
    out.add_argument("--budget", metavar="TIME|N", help="stop after 10s, 5m, or so many executions (exit code 3)")
    out.add_argument("--bound", type=int, metavar="K", help="only schedules of at most K preemptions: no proof")
    out.add_argument("--strategy", choices=("exhaustive", "pct", "random"), default="exhaustive",
                     help="pct and random draw schedules until the budget is spent: no proof")
    out.add_argument("--seed", type=int, default=1, help="of pct and random")
    out.add_argument("--retry-as-await", action="store_true",
                     help="a turn of a loop that failed (its compare-and-exchange, or what it read twice had "
                          "changed) and wrote nothing is tried only once what it waits for has changed")
    out.add_argument("--spurious-cas", action="store_true", help="a weak compare-and-exchange may fail for no reason")
    out.add_argument("--spurious-wake", action="store_true", help="a wait on a condition variable may end for no reason")
    out.add_argument("--malloc-fail", action="store_true", help="each allocation may fail")
    out.add_argument("--reuse", choices=("on", "off"), default="on", help="freed blocks are used again (default: on)")
    out.add_argument("--events", type=int, metavar="N", help="an execution of more events is an unbounded loop (4000)")
    out.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; the same total for any N")
    out.add_argument("--shard", metavar="I/N", help="only the I-th of N parts (from 0), to be merged")
    out.add_argument("--merge", nargs="+", metavar="JSON", help="add up the answers of the shards")
    out.add_argument("--checkpoint", metavar="FILE", help="what is still to be tried goes there now and then, and when "
                     "it ends early (Ctrl-C, SIGTERM, --budget); with --jobs and --shard too")
    out.add_argument("--interval", metavar="TIME", default="10s", help="between two checkpoints (default: 10s)")
    out.add_argument("--resume", action="store_true", help="go on where --checkpoint FILE left off, to the same total")
    out.add_argument("--json", metavar="FILE", help="the answer as JSON; - is standard output")
    out.add_argument("--replay", metavar="FILE", help="run the one execution that FILE holds")
    out.add_argument("--gdb", action="store_true", help="with --replay: under gdb; break FILE.c:LINE, then run")
    out.add_argument("--save", metavar="FILE", help="where the failing execution goes (default: FILE.c's name.replay)")
    out.add_argument("--picture", metavar="FILE", help="the failing execution as FILE.svg, by Graphviz, or FILE.dot")
    out.add_argument("--keep", metavar="FILE", help="keep the compiled object, for a debugger")
    return out


def main(argv: list[str]) -> int:
    cflags: list[str] = []
    if "--" in argv:
        at = argv.index("--")
        argv, cflags = argv[:at], argv[at + 1:]
    args = parser().parse(argv)
    if args.strategy != "exhaustive" and not args.budget and not args.replay:
        raise Stop(f"--strategy {args.strategy} never ends by itself: give it a --budget")
    if args.strategy == "pct" and args.bound is None:
        args.bound = 3
    if args.shard and not re.fullmatch(r"\d+/[1-9]\d*", args.shard):
        raise Stop(f"--shard {args.shard}: which of how many, as 0/4")
    if args.resume and not args.checkpoint:
        raise Stop("--resume: from which --checkpoint FILE?")
    if args.gdb and not args.replay:
        raise Stop("--gdb: of which execution? Give it a --replay FILE")
    if args.merge:
        return merge(args)
    files = [Path(w) for w in args.what if w.endswith(".c")]
    names = [w for w in args.what if not w.endswith(".c")]
    if files and names:
        raise Stop("files or cases, not both")
    for file in files:
        if not file.exists():
            raise Stop(f"there is no {file}")
    if files:
        return one(files, cflags, args)
    return _cases(names, cflags, args)


def _case_files(names: list[str]) -> list[Path]:
    every = {p.stem: p for p in sorted(CASES.glob("*.c"))}
    if not names:
        return list(every.values())
    out = []
    for name in names:
        plain = name.replace(":", "-", 1)
        found = every.get(plain) or next((p for stem, p in every.items()
                                          if stem.replace("_", "-") == plain.replace("_", "-")), None)
        if found is None:
            raise Stop(f"unknown case '{name}' ({nearest(name, every)})")
        out.append(found)
    return out


def _cases(names: list[str], cflags: list[str], args: argparse.Namespace) -> int:
    worst, counts = GOOD, {"ok": 0}
    for file in _case_files(names):
        answer = explore([file], [f"-I{ROOT}/core", f"-I{ROOT}/schedulers", *cflags], args)
        counts[answer.verdict] = counts.get(answer.verdict, 0) + 1
        print(f"{file.stem}: {_line(answer, args)}", flush=True)
        if answer.verdict == "bug":
            print("\n".join(report.columns(answer)))
        worst = max(worst, _CODES.get(answer.verdict, INTERNAL), key=[0, 3, 77, 1, 99, 130].index)
    print(", ".join(f"{n} {verdict}" for verdict, n in counts.items()))
    return worst


def _seconds(text: str) -> float | None:
    """10s, 5m, 1h in seconds; None: it is no time."""
    units = {"s": 1, "m": 60, "h": 3600}
    try:
        return float(text[:-1]) * units[text[-1:]]
    except (KeyError, ValueError):
        return None


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
        interval = _seconds(args.interval)
        if interval is None:
            raise Stop(f"--interval {args.interval}: a time, as 10s or 5m")
        out += ["--checkpoint", args.checkpoint, "--interval", str(interval), *(["--resume"] if args.resume else [])]
    return out + (["--progress"] if sys.stderr.isatty() else [])


def _options(args: argparse.Namespace) -> list[str]:
    out = ["--reuse", args.reuse, "--seed", str(args.seed)]
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


def explore(files: list[Path], cflags: list[str], args: argparse.Namespace) -> report.Answer:
    checker = build.checker()
    try:
        build.others(files, cflags)
        image = build.image(files, cflags)
    except Stop as error:
        if error.code != UNSUPPORTED:
            raise
        return report.Answer("unsupported", {"kind": "unsupported", "message": str(error)}, message=str(error))
    try:
        options = _options(args)
        options += ["--schedule", args.replay] if args.replay else _going_on(args)
        if args.gdb:
            _gdb([str(checker), str(image), *options])
        answer = _execute(checker, image, options)
        if answer.verdict == "bug" and not args.replay and answer.steps:
            answer = _shorter(checker, image, answer, args)
        if args.keep:
            shutil.copy(image, args.keep)
        return answer
    finally:
        image.unlink(missing_ok=True)


def _gdb(command: list[str]) -> None:
    """A debugger on the checker; the code under test is loaded later, so breakpoints in it are pending until then."""
    if shutil.which("gdb") is None:
        raise Stop("--gdb needs the package gdb")
    subprocess.run(["gdb", "-q", "-iex", "set breakpoint pending on", "--args", *command], check=False)


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


def _shorter(checker: Path, image: Path, answer: report.Answer, args: argparse.Namespace) -> report.Answer:
    """The same failure in the order that the checker found shortest, if that order shows it."""
    replay = Path(str(image) + ".replay")
    replay.write_text(report.replay_text(answer, []), encoding="utf-8")
    try:
        again = _execute(checker, image, [*_options(args), "--schedule", str(replay)])
    finally:
        replay.unlink(missing_ok=True)
    if again.verdict == "bug" and again.values.get("kind") == answer.values.get("kind"):
        for key in ("executions", "blocked", "seconds", "startup", "kib"):
            again.values[key] = answer.values.get(key, "0")
        return again
    answer.values["unstable"] = "1"
    return answer


def merge(args: argparse.Namespace) -> int:
    """Adds up what the shards of one exploration said."""
    parts = []
    for name in args.merge:
        try:
            parts.append(json.loads(Path(name).read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise Stop(f"{name}: {error}") from None
    shards = {p.get("shard") for p in parts}
    total = next(iter(shards)).split("/")[1] if None not in shards and shards else None
    if total is None or shards != {f"{i}/{total}" for i in range(int(total))}:
        raise Stop("--merge: these are not all the shards of one exploration: " + ", ".join(map(str, sorted(map(str, shards)))))
    out = dict(next((p for p in parts if p["verdict"] == "bug"), parts[0]))
    worst = ["ok", "incomplete", "unsupported", "bug"]
    out["verdict"] = max((p["verdict"] for p in parts), key=worst.index)
    for key in ("executions", "blocked", "seconds"):
        out[key] = sum(p[key] for p in parts)
    out["bound"], out["shard"] = None, None
    if out["verdict"] != "bug":
        seen = [set(p["unexecuted"]) for p in parts if p["unexecuted"] is not None]
        out["unexecuted"] = [x for x in parts[0]["unexecuted"] or [] if all(x in s for s in seen)]
        out["warnings"] = [] if any(not p["warnings"] for p in parts) else parts[0]["warnings"]
    print(json.dumps(out))
    return _CODES[out["verdict"]]


def _bound(args: argparse.Namespace) -> str | None:
    if args.strategy != "exhaustive":
        return args.strategy
    if args.shard:
        return f"part {args.shard}"
    return f"at most {args.bound} preemptions" if args.bound is not None else None


def _line(answer: report.Answer, args: argparse.Namespace) -> str:
    n, blocked = int(answer.number("executions")), int(answer.number("blocked"))
    model = "sc" + (f", {_bound(args)}" if _bound(args) else "")
    done = f"{n} executions" + (f", {blocked} blocked" if blocked else "") + f", {answer.number('seconds'):.2f} s"
    if answer.verdict == "ok":
        word = "nothing wrong found" if _bound(args) else "ok"
        return f"{word} under {model}: {done}"
    if answer.verdict == "incomplete":
        rest = "; a process was killed (out of memory?)" if "lost" in answer.values else ""
        if args.checkpoint:
            rest += f"; to go on: the same with --checkpoint {args.checkpoint} --resume"
        return f"incomplete under {model}: {done}; nothing wrong in what was explored{rest}"
    return f"{answer.verdict} under {model}: {report.sentence(answer)} ({done})"


def one(files: list[Path], cflags: list[str], args: argparse.Namespace) -> int:
    answer = explore(files, [f"-I{files[0].resolve().parent}", *cflags], args)
    quiet = args.json == "-"
    lines = [f"{files[0].name}: {_line(answer, args)}", *(f"  warning: {w}" for w in report.warnings(answer)),
             *(f"  {n}" for n in report.notes(answer))]
    if answer.verdict == "bug":
        lines += ["", *report.columns(answer), ""]
        save = Path(args.save) if args.save else Path(files[0].stem + ".replay")
        if not args.replay:
            save.write_text(report.replay_text(answer, _options(args)), encoding="utf-8")
            lines.append(f"{report.switches(answer)} switches between threads; to run it again: ./tenter check "
                         f"{' '.join(map(str, files))} --replay {save}")
        if args.picture:
            lines.append(_picture(answer, Path(args.picture)))
    if not quiet:
        print("\n".join(lines))
    if args.json:
        text = json.dumps({**report.as_json(answer, _bound(args)), "shard": args.shard}, indent=None if quiet else 1)
        if quiet:
            print(text)
        else:
            Path(args.json).write_text(text + "\n", encoding="utf-8")
    if "interrupted" in answer.values:
        return INTERRUPTED
    return _CODES.get(answer.verdict, INTERNAL)


def _picture(answer: report.Answer, path: Path) -> str:
    text = report.dot(answer)
    if path.suffix == ".dot":
        path.write_text(text, encoding="utf-8")
        return f"picture: {path}"
    if shutil.which("dot") is None:
        raise Stop("--picture needs the package graphviz; a name that ends in .dot needs nothing", USAGE)
    done = subprocess.run(["dot", "-Tsvg", "-o", str(path)], input=text, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise Stop(f"dot failed: {done.stderr.splitlines()[0] if done.stderr else '?'}", INTERNAL)
    say(f"picture: {path}")
    return f"picture: {path}"
