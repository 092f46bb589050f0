# SPDX-License-Identifier: MIT
"""The cases of dscheck/cases by name, their twins (patches that seed a bug, to be caught), many at once."""
from __future__ import annotations

import argparse
import copy
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from . import check_build as build
from . import check_explore as run
from . import check_report as report
from . import output
from .errors import GOOD, INCOMPLETE, INTERNAL, INTERRUPTED, UNSUPPORTED, WRONG, Stop, nearest

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "dscheck" / "cases"
#: Of a case, when several are explored and nothing else is said.
BUDGET = "20s"


@dataclass(frozen=True)
class Case:
    name: str                   # as a user types it: queue:mpmc-ring
    file: Path

    def twins(self) -> dict[str, Path]:
        """By name, the patches of this case: those that begin with no longer name of a case."""
        stems = [p.stem for p in CASES.glob("**/*.c")]
        out = {}
        for patch in sorted((CASES / "twins").glob(self.file.stem + "-*.patch")):
            owner = max((s for s in stems if patch.stem.startswith(s + "-")), key=len)
            if owner == self.file.stem:
                out[patch.stem[len(owner) + 1:]] = patch
        return out


def _name(stem: str) -> str:
    return stem.replace("-", ":", 1).replace("_", "-")


def every() -> list[Case]:
    """Those that are explored whole, in seconds."""
    return [Case(_name(p.stem), p) for p in sorted(CASES.glob("*.c"))]


def large() -> list[Case]:
    """Those that are not: only by name, best with a --strategy."""
    return [Case(_name(p.stem), p) for p in sorted(CASES.glob("large/*.c"))]


def matching(words: list[str]) -> list[str]:
    """Patterns as the docs write them (io-descriptor*) become the names that they match, of those that are explored whole."""
    out = []
    for word in words:
        if "*" not in word or word.endswith(".c"):
            out.append(word)
            continue
        wanted = word.replace("_", "-").replace(":", "-", 1)
        found = [c.name for c in every() if fnmatchcase(c.name.replace(":", "-", 1), wanted)]
        if not found:
            raise Stop(f"no case is like '{word}' (--list shows them)")
        out += found
    return out


def named(names: list[str]) -> list[Case]:
    known = {c.name: c for c in every() + large()}
    known_too = {c.file.stem.replace("_", "-"): c for c in known.values()}
    out = []
    for name in names:
        found = known.get(name) or known_too.get(name.replace("_", "-").replace(":", "-", 1))
        if found is None:
            raise Stop(f"no file, and no case either: '{name}' ({nearest(name, known)}; a file's name ends in .c)")
        out.append(found)
    return out or every()


def listing() -> str:
    out = []
    for case in every() + large():
        twins = case.twins()
        name = case.name + ("" if case.file.parent == CASES else " (large)")
        out.append(name.ljust(32) + (", ".join(twins) if twins else "(no twin)"))
    return "\n".join(out)


@contextmanager
def tree(patch: Path | None) -> Iterator[Path]:
    """What the cases include: the sources as they are, or a copy with a twin's patch."""
    if patch is None:
        yield ROOT
        return
    with tempfile.TemporaryDirectory(prefix="tenter-twin-") as folder:
        root = Path(folder)
        shutil.copytree(ROOT / "schedulers", root / "schedulers")
        for part in ("queues", "stacks", "sync"):
            shutil.copytree(ROOT / "core" / part, root / "core" / part)
        for pattern in ("core/*.[ch]", "io/**/*.[ch]", "dscheck/*.[ch]", "dscheck/cases/*.[ch]", "dscheck/cases/large/*.c"):
            for path in ROOT.glob(pattern):
                to = root / path.relative_to(ROOT)
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to)
        # -F0: hunks that apply only with fuzz are a twin to renew
        done = subprocess.run(["patch", "-p1", "-s", "-F0", "-d", str(root), "-i", str(patch)], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise Stop(f"{patch.name}: the patch does not apply: renew it", WRONG)
        yield root


def flags(root: Path) -> list[str]:
    return [f"-I{root}", f"-I{root}/core", f"-I{root}/schedulers", f"-ffile-prefix-map={root}/="]


@dataclass
class Result:
    case: Case
    twin: str | None
    answer: report.Answer

    @property
    def title(self) -> str:
        return self.case.name + (f" --twin {self.twin}" if self.twin else "")

    @property
    def verdict(self) -> str:
        """Of a twin: whether it was caught."""
        if self.twin is None:
            return self.answer.verdict
        return {"bug": "caught", "ok": "not caught"}.get(self.answer.verdict, self.answer.verdict)

    @property
    def code(self) -> int:
        return {"caught": GOOD, "not caught": WRONG}.get(self.verdict, run.CODES.get(self.verdict, INTERNAL))


def _explore(case: Case, twin: str | None, cflags: list[str], args: argparse.Namespace) -> Result:
    mine = copy.copy(args)
    mine.jobs, mine.budget = 1, args.budget or BUDGET
    try:
        with tree(case.twins()[twin] if twin else None) as root:
            answer = run.explore([root / case.file.relative_to(ROOT)], [*flags(root), *cflags], mine)
    except Stop as error:
        answer = report.Answer("failed", {"kind": "failed", "message": str(error)}, message=str(error))
    return Result(case, twin, answer)


def many(names: list[str], cflags: list[str], args: argparse.Namespace) -> int:
    """A line for each, in order, as they end; --jobs of them at once."""
    todo: list[tuple[Case, str | None]] = [
        (case, twin) for case in named(names) for twin in (case.twins() if args.twin == "all" else [None])]
    build.checker()
    quiet = args.json == "-"
    results: list[Result] = []
    width = max(len(Result(case, twin, report.Answer()).title) for case, twin in todo)
    pool = ThreadPoolExecutor(max(1, args.jobs))
    if not quiet:
        output.write("-", f"{'case'.ljust(width)}  {'verdict':<11}  executions   blocked  seconds\n")
    try:
        for result in pool.map(lambda which: _explore(*which, cflags, args), todo):
            results.append(result)
            a = result.answer
            if not quiet:
                output.write("-", f"{result.title.ljust(width)}  {result.verdict:<11} {int(a.number('executions')):>11} "
                             f"{int(a.number('blocked')):>9} {a.number('seconds'):>8.2f}"
                             + (f"  {report.sentence(a)}" if a.verdict not in ("ok", "incomplete") else "")
                             + "".join(f"  warning: {w}" for w in report.warnings(a)) + "\n")
            if "interrupted" in a.values:
                break
    except KeyboardInterrupt:
        pass
    finally:
        pool.shutdown(cancel_futures=True)
    counts = {v: sum(r.verdict == v for r in results) for v in dict.fromkeys(r.verdict for r in results)}
    outputs: list[tuple[str, str | bytes]] = []
    if not quiet:
        outputs.append(("-", f"under sc{', ' + str(run.bound(args)) if run.bound(args) else ''}: "
                        + (", ".join(f"{n} {verdict}" for verdict, n in counts.items()) or "nothing") + "\n"))
    if args.json:
        outputs.append((args.json, json.dumps({"schema": 1, "cases": [
            {"name": r.case.name, "twin": r.twin, **report.as_json(r.answer, run.bound(args))} for r in results]}) + "\n"))
    if len(results) < len(todo) or any("interrupted" in r.answer.values for r in results):
        code = INTERRUPTED
    else:
        code = max((r.code for r in results), key=[GOOD, INCOMPLETE, UNSUPPORTED, WRONG, INTERNAL].index)
    output.write_all(outputs, code)
    return code
