# SPDX-License-Identifier: MIT
"""The verb `check`: explores every interleaving of C11 programs, and shows the one that fails."""
from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

from .arguments import Parser
from . import check_build as build
from . import check_cases as cases
from . import check_explore as run
from . import check_merge as merging
from . import check_picture as picture
from . import check_report as report
from . import output
from .errors import GOOD, INTERNAL, INTERRUPTED, Stop, nearest

ROOT = Path(__file__).resolve().parents[2]
#: What a checkpoint begins with (dscheck/checkpoint.c).
CHECKPOINT = b"tenter checkpoint "


def _number(least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,20}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text}: a number from {least} to {most}")
        return int(text)
    return number


def _file(text: str) -> str:
    if text in ("", "-"):
        raise argparse.ArgumentTypeError(f"'{text}': the name of a file")
    return text


def _file_or_output(text: str) -> str:
    return text if text == "-" else _file(text)


def _picture(text: str) -> str:
    if not text.endswith((".svg", ".dot")):
        raise argparse.ArgumentTypeError(f"{text}: FILE.svg or FILE.dot")
    if text.endswith(".svg") and shutil.which("dot") is None:
        raise argparse.ArgumentTypeError(f"{text} needs the package graphviz; FILE.dot needs nothing")
    return text


def parser() -> Parser:
    out = Parser(
        "check",
        usage="./tenter check [FILE.c ... | CASE ...] [options] [-- CFLAGS ...]",
        description="Explore every interleaving of an ordinary C11 program with pthreads or C11 threads. Without a "
                    "file: the cases of dscheck/cases; a case by its name: queue:mpmc-ring, several: 'io-descriptor*'.",
        epilog="Exit codes: 0 nothing wrong; 1 a bug; 2 usage, or it does not compile; 3 not everything was "
               "explored; 77 it cannot be explored; 130 interrupted. Docs: docs/checking.md.")
    out.add_argument("what", nargs="*", help=argparse.SUPPRESS)
    out.add_argument("--list", action="store_true", help="the cases, each with its twins")
    out.add_argument("--twin", metavar="NAME", help="of a case: with this bug seeded in it, which is to be caught; "
                     "all: each of them")
    out.add_argument("--model", choices=("sc",), default="sc", help="sequential consistency: every atomic is seq_cst")
    out.add_argument("--budget", metavar="TIME|N", help="stop after 10s, 5m, or so many executions (exit code 3); "
                     f"of each, where there are several cases (default there: {cases.BUDGET})")
    out.add_argument("--bound", type=_number(0, 1000), metavar="K", help="only schedules of at most K preemptions: no "
                     "proof; of pct: so many changes of priority (3)")
    out.add_argument("--strategy", choices=("exhaustive", "pct", "random"), default="exhaustive",
                     help="pct and random draw schedules until the budget is spent: no proof")
    out.add_argument("--seed", type=_number(0, 2 ** 64 - 1), metavar="N", help="of pct and random (0)")
    out.add_argument("--retry-as-await", action="store_true",
                     help="a turn of a loop that failed (its compare-and-exchange, or what it read twice had "
                          "changed) and wrote nothing is tried only once what it waits for has changed")
    out.add_argument("--spurious-cas", action="store_true", help="a weak compare-and-exchange may fail for no reason")
    out.add_argument("--spurious-wake", action="store_true", help="a wait on a condition variable may end for no reason")
    out.add_argument("--malloc-fail", action="store_true", help="each allocation may fail")
    out.add_argument("--reuse", choices=("on", "off"), default="on", help="freed blocks are used again (default: on)")
    out.add_argument("--events", type=_number(1, 60000), metavar="N", help="an execution of more events is an unbounded loop "
                     "(4000)")
    out.add_argument("--jobs", type=_number(1, 256), default=1, metavar="N", help="processes, with the same total for any N; of several "
                     "cases, so many at once")
    out.add_argument("--shard", metavar="I/N", help="only the I-th of N parts, from 1, to be merged")
    out.add_argument("--merge", nargs="+", type=_file, metavar="JSON", help="add up the answers of the shards")
    out.add_argument("--checkpoint", type=_file, metavar="FILE", help="what is still to be tried goes there now and then, and when "
                     "it ends early (Ctrl-C, SIGTERM, --budget); with --jobs and --shard too")
    out.add_argument("--interval", metavar="TIME", help="between two checkpoints (default: 10s)")
    out.add_argument("--resume", action="store_true", help="go on where --checkpoint FILE left off, to the same total")
    out.add_argument("--json", type=_file_or_output, metavar="FILE", help="the answer as JSON; - is standard output")
    out.add_argument("--replay", type=_file, metavar="FILE", help="run the one execution that FILE holds")
    out.add_argument("--gdb", action="store_true", help="with --replay: under gdb; break FILE.c:LINE, then run")
    out.add_argument("--save", type=_file, metavar="FILE", help="where the failing execution goes (default: FILE.c's name.replay)")
    out.add_argument("--picture", type=_picture, metavar="FILE", help="the failing execution as FILE.svg, by Graphviz, or FILE.dot")
    out.add_argument("--keep", type=_file, metavar="FILE", help="keep the compiled object, for a debugger")
    return out


#: Who does a thing of its own, and all that it goes with.
_ONLY = {"list": (), "merge": ("json",), "replay": ("what", "twin", "gdb", "json", "picture", "keep")}


def _sensible(args: argparse.Namespace, given: list[str]) -> None:
    """Refuses what would be ignored."""
    def option(name: str) -> str:
        return args.what[0] if name == "what" else f"--{name.replace('_', '-')}"
    for one, others in _ONLY.items():
        wrong = [name for name in given if one in given and name not in (one, *others)]
        if wrong:
            why = "it holds the options that it was found with" if one == "replay" else "it stands alone"
            raise Stop(f"--{one} does not go with {option(wrong[0])}: {why}")
    sampled = args.strategy != "exhaustive"
    if sampled and not args.budget:
        raise Stop(f"--strategy {args.strategy} never ends by itself: give it a --budget")
    if args.seed is not None and not sampled:
        raise Stop("--seed is for --strategy pct and random: nothing else draws anything")
    if args.strategy == "random" and args.bound is not None:
        raise Stop("--bound: of --strategy random there is none")
    for name in ("jobs", "shard"):
        if name in given and (sampled or args.bound is not None) and (name == "shard" or _single(args)):
            raise Stop(f"--{name} shares out an exhaustive exploration: not one with "
                       f"{'--strategy ' + args.strategy if sampled else '--bound'}")
    shard = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", args.shard or "1/1")
    if shard is None or not 1 <= int(shard[1]) <= int(shard[2]):
        raise Stop(f"--shard {args.shard}: which of how many, as 1/4 (to 4/4)")
    for name, needs in (("resume", "checkpoint"), ("interval", "checkpoint"), ("gdb", "replay")):
        if name in given and needs not in given:
            raise Stop(f"--{name} needs a --{needs} FILE")
    if args.strategy == "pct" and args.bound is None:
        args.bound = 3


def _single(args: argparse.Namespace) -> bool:
    """One program: files, or one case by its name."""
    return bool(args.what) and (args.what[0].endswith(".c") or len(args.what) == 1) and args.twin != "all"


def _distinct(args: argparse.Namespace) -> None:
    """Refuses what would overwrite what is read, or another answer."""
    files = [word for word in args.what if word.endswith(".c")]
    read = [*files, *(args.merge or ()), *([args.replay] if args.replay else ())]
    taken = {os.path.realpath(name): "which is read" for name in read}
    if files and not (args.save or args.replay):
        taken[os.path.realpath(build.replay_name(files[0]))] = "where a failing execution goes: give that a --save FILE"
    for option in ("checkpoint", "save", "picture", "keep", "json"):
        name = getattr(args, option)
        if name in (None, "-") or Path(name).exists() and not Path(name).is_file():
            continue
        if said := taken.get(place := os.path.realpath(name)):
            raise Stop(f"--{option} {name} would overwrite that file, {said}")
        taken[place] = f"where --{option} goes"


def _writable(args: argparse.Namespace) -> None:
    """Before anything is done."""
    _distinct(args)
    for name in (args.json, args.save, args.picture, args.keep):
        if name and name != "-":
            output.tried(name)
    for place in map(Path, (args.checkpoint, f"{args.checkpoint}.new") if args.checkpoint else ()):
        if place.exists() and not place.is_file():
            raise Stop(f"--checkpoint {place}: this is no file")
        output.tried(str(place))
        try:
            with place.open("rb") as file:
                begin = file.read(len(CHECKPOINT))
        except FileNotFoundError:
            continue
        if begin not in (b"", CHECKPOINT):
            raise Stop(f"--checkpoint {place}: this is no checkpoint, and would be overwritten")


def _files(what: list[str]) -> list[Path]:
    """The C files, if that is what it is."""
    files = [Path(w) for w in what if w.endswith(".c")]
    for word in what:
        path = Path(word)
        if path.is_dir():
            raise Stop(f"{word} is a directory")
        if not word.endswith(".c") and (path.exists() or path.suffix):
            raise Stop(f"{word} is no C file: its name would end in .c")
        if word.endswith(".c") and not path.exists():
            raise Stop(f"there is no {word}")
    if files and len(files) != len(what):
        raise Stop("files or cases, not both")
    return files


def main(argv: list[str]) -> int:
    cflags: list[str] = []
    if "--" in argv:
        at = argv.index("--")
        argv, cflags = argv[:at], argv[at + 1:]
    for word in argv:
        if re.match(r"-[A-Za-gi-z]", word):
            raise Stop(f"{word}: CFLAGS go after --, as in ./tenter check FILE.c -- {word}")
    known = parser()
    args = known.parse(argv)
    given = [name for name, value in vars(args).items() if value != known.get_default(name) and value != []]
    args.cflags = cflags
    _sensible(args, given)
    _writable(args)
    if args.merge:
        return merging.merge(args)
    if args.list:
        output.write("-", cases.listing() + "\n")
        return GOOD
    if args.replay:
        run.of_replay(Path(args.replay))
    args.what = cases.matching(args.what)
    files = _files(args.what)
    if files:
        if args.twin:
            raise Stop("--twin: of which case? --list shows them")
        return one(files, files[0].name, [f"-I{files[0].resolve().parent}", *cflags], args)
    if not _single(args):
        for name in ("replay", "save", "picture", "keep", "checkpoint", "shard"):
            if getattr(args, name):
                raise Stop(f"--{name} is for one program")
        if args.twin not in (None, "all"):
            raise Stop(f"--twin {args.twin}: of which case? --list shows them")
        return cases.many(args.what, cflags, args)
    case = cases.named(args.what)[0]
    twins = case.twins()
    if args.twin and args.twin not in twins:
        raise Stop(f"{case.name} has no twin '{args.twin}' ({nearest(args.twin, twins)})")
    with cases.tree(twins[args.twin] if args.twin else None) as root:
        file = root / case.file.relative_to(ROOT)
        return one([file], case.name + (f" --twin {args.twin}" if args.twin else ""), [*cases.flags(root), *cflags], args)


def one(files: list[Path], title: str, cflags: list[str], args: argparse.Namespace) -> int:
    """Explores one program, and tells: first people, then the files, so that an answer is never lost with one of them."""
    answer = run.explore(files, cflags, args, shorten=True)
    lines = [f"{title}: {run.line(answer, run.bound(args), args)}", *(f"  warning: {w}" for w in report.warnings(answer)),
             *(f"  {n}" for n in report.notes(answer))]
    outputs: list[tuple[str, str | bytes]] = []
    if answer.verdict == "bug":
        lines += ["", *report.columns(answer), ""]
        if not args.replay:
            save = args.save or build.replay_name(files[0])
            outputs.append((save, report.replay_text(answer, run.options_of(args))))
            what = shlex.join(args.what) + (f" --twin {args.twin}" if args.twin else "")
            cflags_too = " -- " + shlex.join(args.cflags) if args.cflags else ""
            lines.append(f"{report.switches(answer)}; to run it again: ./tenter check {what} --replay {shlex.quote(save)}{cflags_too}")
        if args.picture:
            outputs.append((args.picture, picture.drawn(answer, args.picture)))
            lines.append(f"picture: {args.picture}")
    elif unwritten := [name for name in (args.save, args.picture) if name]:
        lines.append(f"  no failing execution, so not written: {', '.join(unwritten)}")
    if args.keep and answer.image:
        outputs.append((args.keep, answer.image))
    if args.json:
        shard = {"shard": args.shard, "exploration": answer.values.get("exploration")}
        whole = {**report.as_json(answer, run.bound(args)), **shard}
        outputs.append((args.json, json.dumps(whole, indent=None if args.json == "-" else 1) + "\n"))
    if args.json != "-":
        outputs.insert(0, ("-", "\n".join(lines) + "\n"))
    code = INTERRUPTED if "interrupted" in answer.values else run.CODES.get(answer.verdict, INTERNAL)
    output.write_all(outputs, code)
    return code
