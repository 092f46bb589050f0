# SPDX-License-Identifier: MIT
"""The verb `run`: build the variants of a matrix, run its cells, keep every row, report."""
from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import shlex
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Iterator, Sequence

from . import child, environment, invoke, known, matrix as matrices, plan
from .arguments import Parser
from .build import Build, Builder, MesonBuilder, Variant, build, digest
from .errors import INTERRUPTED, Stop, nearest
from .matrix import Cell, Matrix
from .merge import merge
from .outcome import FINISHED, Outcome, conclude, count
from .plan import Estimator, Invocation, human
from .progress import Progress, Steps, say
from .store import Results, mark_latest, newest, of_host

ROOT = Path(__file__).resolve().parents[2]
TO_RETRY = ("failed", "timeout", "skipped", "invalid")


@dataclass(frozen=True)
class Reproduced:
    """The row of rows.yaml that a run is made for, and the command that asked for it."""

    row: str
    command: str


def parser() -> Parser:
    out = Parser(
        "run",
        description="Build each variant of a matrix, run each of its cells, keep every sample, "
                    "draw the figures. One cell in one block is one process. Results land in "
                    "the folder results/ beside ./tenter, wherever it is called from; "
                    "results/latest is the newest.",
        epilog="Exit codes: 0 every cell is good; 1 a program gave a wrong answer; 2 usage; "
               "3 some cell failed, was skipped, or is left for --resume; 130 interrupted.")
    add = out.add_argument
    add("matrix", nargs="?", metavar="MATRIX", help="a name that ./tenter list shows, or a YAML "
        "file (default: quick)")
    add("--plan", action="store_true", help="check the matrix, print each cell and an estimate, "
        "run nothing (programs are built once, to be asked for their options and knobs)")
    add("--resume", nargs="?", const="", metavar="DIR",
        help="run what a results folder still lacks (default: the newest of this matrix)")
    add("--retry-failed", action="store_true",
        help="with --resume, also what failed, timed out, was skipped or gave a wrong answer")
    add("--rerun", action="store_true", help="with --resume, everything again; the new rows "
        "replace the former ones in figures, both are kept")
    add("--only", action="append", default=[], metavar="FACTOR=VALUE",
        help="only such cells; may be given several times, and values be separated by commas")
    add("--shard", metavar="I/N", help="the I-th of N parts of the cells")
    add("--merge", nargs="+", type=Path, metavar="DIR", help="put the results folders of shards "
        "together in a new one, with one report; refused where matrix or build differ")
    add("--limit", type=int, metavar="N", help="stop after N invocations; --resume goes on")
    add("--quick", action="store_true", help="fewer blocks and repetitions")
    add("--seed", type=int, metavar="N", help="seed of the order and of the programs")
    add("--order", choices=plan.ORDERS, help="randomised blocks (each runs every cell once), "
        "the same unshuffled, or cell by cell")
    add("--out", type=Path, metavar="DIR", help="results folder (default: "
        "results/MATRIX-UTCTIME beside ./tenter)")
    add("--json", action="store_true", help="one JSON object on standard output")
    return out


def main(argv: list[str]) -> int:
    args = parser().parse(argv)
    outcome = run(argv)
    _print(outcome, args.json)
    return outcome.code


def _print(outcome: Outcome, as_json: bool) -> None:
    if as_json:
        print(json.dumps({
            "results": str(outcome.folder) if outcome.folder else None,
            "counts": outcome.counts, "invocations": outcome.invocations,
            "missing": outcome.missing, "exit": outcome.code, **outcome.paths,
            **({"plan": outcome.plan} if outcome.plan is not None else {})}))
    elif outcome.plan is not None:
        for cell in outcome.plan["cells"]:
            print(f"{cell['cell']}  ({cell['variant']}, {cell['invocations']} × "
                  f"{cell['estimate_s']:.1f} s)")
        print(f"{len(outcome.plan['cells'])} cells, {outcome.invocations} invocations, "
              f"about {human(outcome.plan['estimate_s'])} after building")
    elif outcome.folder is not None:
        print(", ".join(f"{n} {status}" for status, n in outcome.counts.items()) or "nothing ran")
        print(f"rows    {outcome.folder / 'rows.jsonl'}")
        for name in ("tidy", "report"):
            if name in outcome.paths:
                print(f"{name:<7} {outcome.paths[name]}")


def run(argv: list[str], root: Path = ROOT, builder: Builder | None = None,
        results: Path | None = None, figures: Sequence[str] | None = None,
        reproduces: Reproduced | None = None) -> Outcome:
    """The verb without its printing; `results` is the folder of results folders, `figures` what to
    draw in place of what the matrix names, `reproduces` the row that the run is made for."""
    args = parser().parse(argv)
    if args.limit is not None and args.limit < 1:
        raise Stop(f"--limit {args.limit}: at least 1")
    if args.merge:
        for name in ("plan", "resume", "retry_failed", "rerun", "only", "shard", "limit", "quick",
                     "seed", "order"):
            if getattr(args, name) not in (None, False, []):
                raise Stop(f"--merge runs nothing: leave out --{name.replace('_', '-')}")
        return merge(args.merge, args.matrix, args.out, _command(argv), root,
                     results or root / "results", figures)
    with _interruptible():
        return _Run(args, argv, root, builder or MesonBuilder(root, say=say, steps=Steps),
                    results or root / "results", figures, reproduces).all()


def _command(argv: list[str]) -> str:
    return shlex.join(["./tenter", "run", *argv])


@contextlib.contextmanager
def _interruptible() -> Any:
    """SIGTERM and SIGHUP end a run as Ctrl-C does."""
    def stop(_number: int, _frame: Any) -> None:
        raise KeyboardInterrupt
    before = {}
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Run:
    def __init__(self, args: argparse.Namespace, argv: list[str], root: Path, builder: Builder,
                 results: Path, figures: Sequence[str] | None,
                 reproduces: Reproduced | None) -> None:
        self.args, self.root, self.builder, self.results = args, root, builder, results
        self.figures, self.reproduces = figures, reproduces
        self.command = reproduces.command if reproduces else _command(argv)
        self.resuming = args.resume is not None or args.retry_failed or args.rerun
        self.recorded: dict[str, Any] = {}
        self.folder = self._folder()
        self.matrix = self._matrix()
        self.builds: dict[Variant, Build] = {}
        self.binaries: dict[Path, str] = {}

    # -- what to run --

    def _folder(self) -> Path:
        args = self.args
        if not self.resuming:
            stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
            folder: Path = args.out or self.results / f"{self._name()}-{stamp}"
            if (folder / "rows.jsonl").exists() and not args.plan:
                raise Stop(f"{folder} holds a run already: --resume {folder} goes on with it")
            return folder
        if args.resume and not (Path(args.resume) / "run.json").exists():
            if args.matrix is not None or "/" in args.resume:
                raise Stop(f"--resume {args.resume}: no results folder (it holds no run.json)")
            args.matrix, args.resume = args.resume, ""      # `--resume packet`
        if args.resume or args.out:
            return Path(args.resume or args.out)
        name = self._name()
        found = newest(self.results, name)
        if found is None:
            there = {p.name.rsplit("-", 1)[0] for p in self.results.glob("*-*Z")}
            raise Stop(f"there is no run of '{name}' to resume in {self.results} "
                       f"({nearest(name, there)})")
        return found

    def _name(self) -> str:
        return matrices.load(self.root, matrices.find(self.root, self.args.matrix or "quick")).name

    def _matrix(self) -> Matrix:
        args = self.args
        if not self.resuming:
            path = matrices.find(self.root, args.matrix or "quick")
            loaded = matrices.load(self.root, path, args.quick)
            loaded.seed = loaded.seed if args.seed is None else args.seed
            loaded.order = args.order or loaded.order
            self.recorded = {"matrix": loaded.name, "quick": args.quick, "seed": loaded.seed,
                             "order": loaded.order, "only": args.only, "shard": args.shard,
                             "cores": matrices.usable_cores(), "command": self.command,
                             "home": str(path.resolve().parent), "source": str(path),
                             "reproduces": self.reproduces.row if self.reproduces else None,
                             "started": datetime.now(timezone.utc).isoformat()}
            return loaded
        try:
            self.recorded = json.loads((self.folder / "run.json").read_text(encoding="utf-8"))
            was = self.recorded
            loaded = matrices.load(self.root, self.folder / "matrix.yaml", was["quick"],
                                   was["cores"], Path(was["home"]))
        except (OSError, ValueError, KeyError) as error:
            raise Stop(f"{self.folder} is no results folder that can be resumed: {error}") \
                from error
        for name in ("seed", "order", "quick"):
            given = getattr(args, name)
            if given and given != was[name]:
                raise Stop(f"--{name} is {was[name]} in {self.folder} and cannot change when "
                           "resuming")
        if args.matrix is not None and self._name() != loaded.name:
            raise Stop(f"{self.folder} is a run of '{loaded.name}', not of '{args.matrix}'")
        loaded.seed, loaded.order = was["seed"], was["order"]
        args.only = args.only or was["only"]
        args.shard = args.shard or was["shard"]
        return loaded

    def all(self) -> Outcome:
        known.check_names(self.root, self.matrix)
        cells = plan.shard(plan.only(self.matrix, self.args.only), self.args.shard)
        if not cells:
            raise Stop("no cell is left: see --only and --shard")
        todo = plan.order(cells, self.matrix.order, self.matrix.seed)
        estimator = Estimator(self.results, self.matrix.name)
        for note in self.matrix.notes:
            say(f"note: {note}")
        if self.args.plan:
            for note in known.check_plan(self.root, self.builder, self.matrix, cells):
                say(f"note: {note}")
            return self._planned(cells, todo, estimator)
        for cell in cells:
            invoke.simulated(cell.variables())      # no run of which half is in vain
        try:
            known.check_knobs(self.root, self.builder, self.matrix)
            self._build(cells)
        except KeyboardInterrupt:
            say("interrupted while building; nothing was measured, start again as you did")
            return Outcome(INTERRUPTED)
        with Results(self.folder) as results:
            return self._measure(results, todo, estimator)

    def _planned(self, cells: list[Cell], todo: list[Invocation],
                 estimator: Estimator) -> Outcome:
        table = [{"cell": c.label(), "variant": self.matrix.variant(c).name, "invocations": c.blocks,
                  "estimate_s": round(estimator.seconds(c), 3), "optional": c.optional}
                 for c in cells]
        total = sum(estimator.seconds(i.cell) for i in todo)
        return Outcome(invocations=len(todo),
                       plan={"cells": table, "order": [[i.cell.label(), i.block] for i in todo],
                             "estimate_s": round(total, 1)})

    # -- build --

    def _build(self, cells: list[Cell]) -> None:
        wanted: dict[Variant, list[str]] = {}
        for cell in cells:
            programs = wanted.setdefault(self.matrix.variant(cell), [])
            if cell.program not in programs:
                programs.append(cell.program)
        for variant, programs in wanted.items():
            self.builds[variant] = build(self.builder, variant, programs)
            for program, problem in self.builds[variant].problems.items():
                if program not in self.builds[variant].absent:      # its rows say so
                    say(f"{program} ({variant.name}): {problem}")
        for path in [p for b in self.builds.values() for p in b.programs.values()]:
            self.binaries[path] = digest(path)
        options: dict[Path, Any] = {}
        for cell in cells:
            binary = self.builds[self.matrix.variant(cell)].programs.get(cell.program)
            if binary is None:
                continue
            if binary not in options:
                try:
                    options[binary] = known.options_of(binary)
                except Stop as error:
                    say(f"note: options are not checked: {error}")
                    options[binary] = None
            if options[binary] is not None:
                known.check_options(self.matrix, cell, options[binary])

    # -- run --

    def _id(self, cell: Cell) -> str:
        path = self.builds[self.matrix.variant(cell)].programs.get(cell.program)
        return cell.id(self.binaries[path] if path else None)

    def _pending(self, results: Results, todo: list[Invocation]) -> list[Invocation]:
        if self.args.rerun:
            return todo
        last = {(r["cell"], r["block"]): r["status"] for r in results.rows
                if r["status"] in FINISHED}
        again = (None, *TO_RETRY) if self.args.retry_failed else (None,)
        return [i for i in todo if last.get((self._id(i.cell), i.block)) in again]

    def _measure(self, results: Results, todo: list[Invocation],
                 estimator: Estimator) -> Outcome:
        if results.torn:
            say("the last line of rows.jsonl was torn and is measured again")
        results.write("matrix.yaml", self.matrix.path.read_text(encoding="utf-8"))
        results.write("run.json", json.dumps(self.recorded, indent=1) + "\n")
        mark_latest(self.folder, self.results)
        self._keep_logs(results)
        env = environment.capture(self.root)
        results.environment(env)
        pending = self._pending(results, todo)
        part = pending[:self.args.limit] if self.args.limit else pending
        if self.resuming:
            say(f"{self.folder}: {len(todo) - len(pending)} of {len(todo)} invocations are done")
            ours = {self._id(i.cell) for i in todo}
            built = {self.binaries[p] for b in self.builds.values() for p in b.programs.values()}
            other = sum(r["cell"] not in ours and r["binary_file"] not in (None, *built)
                        for r in results.rows)
            if other:
                say(f"note: {other} recorded invocations are of binaries built before; start a "
                    "new run to compare like with like")
        progress = Progress(len(part))
        interrupted, left = False, list(part)
        try:
            for together in self._together(part):
                progress.begins(together[0].cell.label(), self._seconds(left, estimator))
                for invocation, row in self._rows(results, together, env["env_id"]):
                    results.append(row)
                    estimator.ended(invocation.cell, of_host(row, "wall_s"), row["status"])
                    left.remove(invocation)
                    progress.ended(f"{invocation.cell.label()} block={invocation.block}", row,
                                   self._seconds(left, estimator))
                    if row["status"] == "interrupted":
                        raise KeyboardInterrupt
        except KeyboardInterrupt:
            interrupted = True
        finally:
            progress.close()
        outcome = count(results, todo, self._id)
        if interrupted:
            outcome.code = INTERRUPTED
            judged = f"; then ./tenter reproduce {self.reproduces.row} --from {self.folder}" if self.reproduces else ""
            say(f"interrupted; what was measured is kept. To go on: ./tenter run --resume {self.folder}{judged}")
        else:
            conclude(results, outcome, self.recorded["command"], self.figures)
        return outcome

    def _simulated(self, invocation: Invocation) -> bool:
        return dict(self.matrix.variant(invocation.cell).options).get("runtime") == "sim"

    def _together(self, part: list[Invocation]) -> Iterator[list[Invocation]]:
        """What is measured runs alone; simulations, which nothing beside them changes, do not."""
        for simulated, group in itertools.groupby(part, self._simulated):
            yield from [list(group)] if simulated else ([i] for i in group)

    def _seconds(self, left: list[Invocation], estimator: Estimator) -> float:
        beside = matrices.usable_cores()
        return sum(estimator.seconds(i.cell) / (beside if self._simulated(i) else 1) for i in left)

    def _rows(self, results: Results, together: list[Invocation], env_id: str,
              ) -> Iterator[tuple[Invocation, dict[str, Any]]]:
        """Each with its row, in their order; several at once, as many as there are processors."""
        if len(together) == 1:
            yield together[0], self._invoke(results, together[0], env_id)
            return
        with ThreadPoolExecutor(matrices.usable_cores()) as pool:
            waiting = [pool.submit(self._invoke, results, i, env_id) for i in together]
            try:
                for invocation, ended in zip(together, waiting):
                    yield invocation, ended.result()
            finally:
                child.stop.set()
                pool.shutdown(cancel_futures=True)
                child.stop.clear()

    def _invoke(self, results: Results, invocation: Invocation, env_id: str) -> dict[str, Any]:
        variant = self.matrix.variant(invocation.cell)
        path = self.builds[variant].programs.get(invocation.cell.program)
        return invoke.invoke(results, invocation, variant, self.builds[variant],
                             self.binaries[path] if path else None, env_id)

    def _keep_logs(self, results: Results) -> None:
        for variant, built in self.builds.items():
            if built.problems and built.log is not None and built.log.exists():
                results.output(f"build-{variant.name}.txt", built.log.read_bytes())
