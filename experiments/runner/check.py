# SPDX-License-Identifier: MIT
"""The verb `check`: explores every interleaving of C11 programs, and shows the one that fails."""
from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from .arguments import Parser
from . import check_cases as cases
from . import check_explore as run
from . import check_picture as picture
from . import check_report as report
from .errors import GOOD, INTERNAL, INTERRUPTED, USAGE, Stop, nearest
from .progress import say

ROOT = Path(__file__).resolve().parents[2]


def parser() -> Parser:
    out = Parser(
        "check",
        usage="./tenter check [FILE.c ... | CASE ...] [options] [-- CFLAGS ...]",
        description="Explore every interleaving of an ordinary C11 program with pthreads or C11 threads. Without a "
                    "file: the cases of dscheck/cases; a case by its name: queue:mpmc-ring.",
        epilog="Exit codes: 0 nothing wrong; 1 a bug; 2 usage, or it does not compile; 3 not everything was "
               "explored; 77 it cannot be explored; 130 interrupted. Docs: docs/checking.md.")
    out.add_argument("what", nargs="*", help=argparse.SUPPRESS)
    out.add_argument("--list", action="store_true", help="the cases, each with its twins")
    out.add_argument("--twin", metavar="NAME", help="of a case: with this bug seeded in it, which is to be caught; "
                     "all: each of them")
    out.add_argument("--model", choices=("sc",), default="sc", help="sequential consistency: every atomic is seq_cst")
    out.add_argument("--budget", metavar="TIME|N", help="stop after 10s, 5m, or so many executions (exit code 3); "
                     f"of each, where there are several cases (default there: {cases.BUDGET})")
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
    out.add_argument("--jobs", type=int, default=1, metavar="N", help="processes, with the same total for any N; of several "
                     "cases, so many at once")
    out.add_argument("--shard", metavar="I/N", help="only the I-th of N parts, from 1, to be merged")
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
    args.cflags = cflags
    if args.strategy != "exhaustive" and not args.budget and not args.replay:
        raise Stop(f"--strategy {args.strategy} never ends by itself: give it a --budget")
    if args.strategy == "pct" and args.bound is None:
        args.bound = 3
    shard = re.fullmatch(r"(\d+)/(\d+)", args.shard or "1/1")
    if shard is None or not 1 <= int(shard[1]) <= int(shard[2]):
        raise Stop(f"--shard {args.shard}: which of how many, as 1/4 (to 4/4)")
    if args.resume and not args.checkpoint:
        raise Stop("--resume: from which --checkpoint FILE?")
    if args.gdb and not args.replay:
        raise Stop("--gdb: of which execution? Give it a --replay FILE")
    if args.merge:
        return merge(args)
    if args.list:
        print(cases.listing())
        return GOOD
    files = [Path(w) for w in args.what if w.endswith(".c")]
    names = [w for w in args.what if not w.endswith(".c")]
    if files and names:
        raise Stop("files or cases, not both")
    for file in files:
        if not file.exists():
            raise Stop(f"there is no {file}")
    if files:
        if args.twin:
            raise Stop("--twin: of which case? --list shows them")
        return one(files, files[0].name, [f"-I{files[0].resolve().parent}", *cflags], args)
    if len(names) != 1 or args.twin == "all":
        for name in ("replay", "save", "picture", "keep", "checkpoint", "shard"):
            if getattr(args, name):
                raise Stop(f"--{name} is for one program")
        if args.twin not in (None, "all"):
            raise Stop(f"--twin {args.twin}: of which case? --list shows them")
        return cases.many(names, cflags, args)
    case = cases.named(names)[0]
    twins = case.twins()
    if args.twin and args.twin not in twins:
        raise Stop(f"{case.name} has no twin '{args.twin}' ({nearest(args.twin, twins)})")
    with cases.tree(twins[args.twin] if args.twin else None) as root:
        file = root / case.file.relative_to(ROOT)
        return one([file], case.name + (f" --twin {args.twin}" if args.twin else ""), [*cases.flags(root), *cflags], args)


def merge(args: argparse.Namespace) -> int:
    """Adds up what the shards of one exploration said."""
    parts = []
    for name in args.merge:
        try:
            parts.append(json.loads(Path(name).read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise Stop(f"{name}: {error}") from None
    for name, part in zip(args.merge, parts):
        if not isinstance(part, dict) or "verdict" not in part or not part.get("shard"):
            raise Stop(f"--merge: {name} is not the --json of a --shard")
        if part.get("exploration") != parts[0].get("exploration"):
            raise Stop(f"--merge: {name} is of another program than {args.merge[0]}, or was explored with other options")
    shards = {p["shard"] for p in parts}
    total = parts[0]["shard"].split("/")[1]
    if len(parts) != len(shards) or shards != {f"{i}/{total}" for i in range(1, int(total) + 1)}:
        raise Stop("--merge: each shard of one exploration once; these are " + ", ".join(sorted(p["shard"] for p in parts)))
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
    return run.CODES[out["verdict"]]


def one(files: list[Path], title: str, cflags: list[str], args: argparse.Namespace) -> int:
    answer = run.explore(files, cflags, args, shorten=True)
    quiet = args.json == "-"
    lines = [f"{title}: {run.line(answer, args)}", *(f"  warning: {w}" for w in report.warnings(answer)),
             *(f"  {n}" for n in report.notes(answer))]
    if answer.verdict == "bug":
        lines += ["", *report.columns(answer), ""]
        save = Path(args.save) if args.save else Path(files[0].stem + ".replay")
        if not args.replay:
            save.write_text(report.replay_text(answer, run.options_of(args)), encoding="utf-8")
            what = " ".join(args.what) + (f" --twin {args.twin}" if args.twin else "")
            given = " -- " + shlex.join(args.cflags) if args.cflags else ""
            lines.append(f"{report.switches(answer)}; to run it again: ./tenter check {what} --replay {save}{given}")
        if args.picture:
            lines.append(_picture(answer, Path(args.picture)))
    if not quiet:
        print("\n".join(lines))
    if args.json:
        shard = {"shard": args.shard, "exploration": answer.values.get("exploration")}
        text = json.dumps({**report.as_json(answer, run.bound(args)), **shard}, indent=None if quiet else 1)
        if quiet:
            print(text)
        else:
            Path(args.json).write_text(text + "\n", encoding="utf-8")
    if "interrupted" in answer.values:
        return INTERRUPTED
    return run.CODES.get(answer.verdict, INTERNAL)


def _picture(answer: report.Answer, path: Path) -> str:
    text = picture.dot(answer)
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
