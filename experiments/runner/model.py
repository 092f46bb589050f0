# SPDX-License-Identifier: MIT
"""The verb `model`: what the models of a benchmark say, as a table, and as a figure with simulated points."""
from __future__ import annotations

import csv
import json
import re
from itertools import chain, product
from pathlib import Path
from typing import Iterator

from experiments.models import locks

from .arguments import Parser
from .errors import GOOD, INTERNAL, Stop

MOST = 1024
#: iterations of algorithm 1 that are played for a point, or so many of each thread where that is more
PLAYED, EACH = 20_000, 20
#: times that each point is played for the figure: stats.FEW, which needs what the table does without
BLOCKS = 6
FIGURE = "locks_b6_3"
_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_TIME = re.compile(rf"(\d+(?:\.\d+)?)({'|'.join(_NS)})")
_NUMBERS = re.compile(r"(\d+)(?:\.\.(\d+))?")
COLUMNS = ("cell", "block", "order", "invocation", "rep", "status", "workers", "locks", "critical", "other", "program",
           "series", "runtime", "oversubscribed", "metric", "unit", "value")


def parser() -> Parser:
    out = Parser(
        "model",
        description="How many threads work rather than wait for a lock, where each works, takes one of several locks at "
                    "random, works on, and gives it back: by the probabilistic model and by exact mean value analysis, "
                    "and with all times constant, played event by event.",
        epilog="docs/locks.md says what is in the models and what is not. Exit codes: 0 good; 2 usage.")
    add = out.add_argument
    add("model", nargs="?", choices=["locks"], metavar="MODEL", help="locks")
    add("--threads", metavar="N", default="1..32", help="each with a core of its own: 8, 1..32, or several with commas "
        "between (default: 1..32)")
    add("--locks", metavar="N", type=int, default=16, help="locks to choose from (default: 16)")
    add("--critical", metavar="TIME", default="10us", help="how long a lock is held: 100ns, 10us, 1.5ms (default: 10us)")
    add("--other", metavar="TIME", default="10us", help="how long a thread works between (default: 10us)")
    add("--out", type=Path, metavar="DIR", help=f"write played points to DIR/tidy.csv, {BLOCKS} times each, and draw "
        f"DIR/figures/{FIGURE}.pdf")
    return out


def nanoseconds(text: str, option: str) -> float:
    found = _TIME.fullmatch(text)
    if found is None:
        raise Stop(f"model: {option} {text}: a number with ns, us, ms or s behind it, such as 100ns")
    return float(found[1]) * _NS[found[2]]


def numbers(text: str) -> list[int]:
    """1,2,4..8 in ascending order, each once."""
    spans = []
    for part in text.split(","):
        found = _NUMBERS.fullmatch(part)
        low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= low <= high <= MOST:
            raise Stop(f"model: --threads {text}: numbers from 1 to {MOST}, such as 1..32 or 1,2,4")
        spans.append(range(low, high + 1))
    return sorted(set(chain(*spans)))


def main(argv: list[str]) -> int:
    args = parser().parse(argv)
    if args.model is None:
        raise Stop("model: which? (./tenter model locks)")
    threads = numbers(args.threads)
    try:
        loop = locks.Loop(args.locks, nanoseconds(args.critical, "--critical"), nanoseconds(args.other, "--other"))
    except ValueError as error:
        raise Stop(f"model: {error}") from error
    print("\n".join(table(loop, threads)))
    if args.out:
        write(loop, sorted({1, *threads}), args.out)    # all is drawn in units of one thread
        print(_draw(args.out))
    return GOOD


def _played(loop: locks.Loop, threads: int, seed: int) -> float:
    return locks.play(loop, threads, max(PLAYED, EACH * threads), seed)


def table(loop: locks.Loop, threads: list[int]) -> list[str]:
    out = [f"locks {loop.locks}, each held for {loop.critical:g} ns, {loop.other:g} ns between; "
           "threads that work rather than wait:",
           f"{'threads':>8}{'probabilistic':>15}{'mva':>9}{'constant':>10}"]
    for n in threads:
        rates = (locks.throughput(loop, n), locks.mva(loop, n).throughput, _played(loop, n, 1))
        one, two, three = (locks.utilisation(loop, rate) for rate in rates)
        out.append(f"{n:>8}{one:>15.2f} {two:>8.2f} {three:>9.2f}")
    most = locks.utilisation_limit(loop)
    return [*out, f"   limit{most:>15.2f} {most:>8.2f} {most:>9.2f}"]


#: row B6.2: figure 6.2, and one point for the limit
FIGURES = {"locks": (locks.Loop(16, 1e4, 1e4), [1, 2, 4, 8, 12, 16, 24, 32, 48, 64], 4096)}


def figure_of(name: str, folder: Path) -> None:
    """What a row that is computed needs: both models, and where they go for ever more threads."""
    loop, threads, far = FIGURES[name]
    write(loop, threads, folder, far)


def _models(loop: locks.Loop, threads: list[int]) -> Iterator[tuple[int, str, str, str, float]]:
    for n in threads:
        for name, rate in (("probabilistic", locks.throughput(loop, n)), ("mva", locks.mva(loop, n).throughput)):
            yield n, name, "utilisation", "1", locks.utilisation(loop, rate)


def write(loop: locks.Loop, threads: list[int], folder: Path, far: int | None = None) -> None:
    """Points in the columns that figures read (docs/results.md): the loop played, and what both models say."""
    if (folder / "rows.jsonl").exists():
        raise Stop(f"model: --out {folder}: results of a run are there; give a folder of its own")
    said = {"matrix": "none: ./tenter model locks", "machine": "computed, not measured"}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "provenance.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
        with open(folder / "tidy.csv", "w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(COLUMNS)
            played = ((block, n, "constant times", "throughput", "1/s", 1e9 * _played(loop, n, block + 1))
                      for block, n in product(range(BLOCKS), threads))
            said = ((0, *point) for point in _models(loop, [*threads, *([far] if far else [])]))
            for order, (block, n, series, metric, unit, value) in enumerate(chain(played, said)):
                rows.writerow([f"{series}-{n}", block, order, order, 0, "ok", n, loop.locks, loop.critical, loop.other,
                               "locks", series, "model", False, metric, unit, value])
    except OSError as error:
        raise Stop(f"model: --out {folder}: {error.strerror}") from error


def _draw(folder: Path) -> str:
    from . import figures                               # needs the packages of `plots`
    drawn = figures.draw(FIGURE, folder / "tidy.csv")
    if drawn.problem:
        raise Stop(f"model: {drawn.problem}", INTERNAL)
    return f"figure {folder / str(drawn.pdf)}"
