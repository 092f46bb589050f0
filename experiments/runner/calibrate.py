# SPDX-License-Identifier: MIT
"""`./tenter sim --calibrate`: the machine file `host`.

The program `calibrate` has one kernel for each figure. It runs here and on simulated cores; a figure is what makes the
simulated kernel take the time that was measured. What cannot be measured is taken from the default machine.
"""
from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable

import yaml

from . import environment
from .build import Builder, Variant, build
from .errors import INCOMPLETE, Stop
from .progress import say

MACHINES = "sim/machines"
DEFAULTS = "epyc7702x2"
FILE = "results/host.yaml"
HOW = "./tenter sim --calibrate measures this machine"
PROGRAM = "calibrate"
INVOCATIONS = 5
#: a lower quartile that is farther than this above the least, relative to it, is no measurement
NOISE = 0.7
#: and a fit that is farther off, by the median of its kernels, says little of an instruction
FIT = 0.15
#: nor is a time of more than so many of the default machine's figures
BELIEF = 100
POOR = "its kernels do not fit one figure"
WORK = ("work_list", "work_hash", "work_heap", "work_parse", "work_call")
#: solved in this order, each with those before it in force; the kernel has the figure's name
SOLVED = ("clock", "pause", "atomic", "fence", "malloc", "yield", "park", "call", "transfer", "wake", "start",
          "create", "heavy", "interrupt")
#: what a kernel gives directly
DIRECT = ("memory", "slice")
TWO = ("transfer", "wake", "start", "heavy", "interrupt")

ONE_CORE = ("--reps", "25", "--warmup", "1", "--ms", "1")
TWO_CORES = ("--reps", "9", "--warmup", "1", "--ms", "20")

Samples = dict[str, list[float]]
#: runs the kernels: (here, or simulated with that machine file; arguments) -> samples
Run = Callable[["Path | None", list[str]], Samples]


@dataclass
class Figure:
    value: Any
    comment: str


@dataclass
class Machine:
    """The file to be: the defaults, and what was measured."""

    figures: dict[str, Figure]
    head: list[str] = field(default_factory=list)

    def text(self) -> str:
        lines = [f"# {line}" for line in self.head]
        for name, figure in self.figures.items():
            value = figure.value
            shown = (f"[{', '.join(_short(v) for v in value)}]" if isinstance(value, list)
                     else _short(value))
            lines.append(f"{name + ': ' + shown:<31} # {figure.comment}")
        return "\n".join(lines) + "\n"

    def set(self, name: str, value: float) -> None:
        """`transfer` has one figure a layer, none less than the one before: the kernel's pair of cores is of the first."""
        old = self.figures[name].value
        self.figures[name].value = ([value, *(max(value, v) for v in old[1:])] if isinstance(old, list)
                                    else value)


def _short(value: Any) -> str:
    return str(value) if not isinstance(value, float) else f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def defaults(root: Path) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((root / MACHINES / f"{DEFAULTS}.yaml").read_text(encoding="utf-8"))
    return data


# -- the file -------------------------------------------------------------------------------------

def path(root: Path) -> Path:
    """The file `host`, which must be there, whole, and of this machine."""
    file = root / FILE
    if not file.exists():
        raise Stop(f"the machine 'host' is not calibrated: {HOW}")
    try:
        text = file.read_text(encoding="utf-8")
        data = yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError):
        text, data = "", None
    keys = data if isinstance(data, dict) else {}
    lacking = [k for k in defaults(root) if k not in keys]
    if lacking or not text.endswith("\n"):
        raise Stop(f"{FILE} is not whole{': it lacks ' + ', '.join(lacking[:3]) if lacking else ''}; "
                   f"{HOW} anew")
    here = environment.cpu_model()
    if here is not None and here not in text.split("\n", 1)[0]:
        say(f"note: {FILE} was calibrated on another processor than this {here}: {HOW} anew")
    return file


# -- what the system says -------------------------------------------------------------------------

def _numbers(text: str | None) -> set[int]:
    out: set[int] = set()
    for part in (text or "").split(","):
        low, _, high = part.strip().partition("-")
        if low.isdigit():
            out |= set(range(int(low), int(high or low) + 1))
    return out


def topology(cpu: str = "/sys/devices/system/cpu", allowed: set[int] | None = None
             ) -> tuple[list[int], list[tuple[int, str, int]], list[tuple[int, int, int]]]:
    """The cores (one processor of each), the layers as (cores together, why, a core to be measured with), and the caches
    of each level as (KiB, ways, cores that share one)."""
    mine = allowed if allowed is not None else os.sched_getaffinity(0)
    cores: list[int] = []
    seen: set[int] = set()
    for n in sorted(mine):
        if n not in seen:
            cores.append(n)
            seen |= _numbers(environment.read(f"{cpu}/cpu{n}/topology/thread_siblings_list")) or {n}
    caches: list[tuple[int, int, int]] = []
    groups = []
    first = cores[0]
    for index in range(8):
        folder = f"{cpu}/cpu{first}/cache/index{index}"
        level, kind = environment.read(f"{folder}/level"), environment.read(f"{folder}/type")
        if level is None or kind == "Instruction":
            continue
        sharing = _numbers(environment.read(f"{folder}/shared_cpu_list")) & set(cores)
        size = (environment.read(f"{folder}/size") or "0").rstrip("K")
        caches.append((int(size) if size.isdigit() else 0, environment.number(f"{folder}/ways_of_associativity") or 0,
                       len(sharing)))
        groups.append((sharing, f"share the cache of level {level}"))
    if not caches and cpu.startswith("/sys/"):      # a guest is told less
        def system(level: str, what: str) -> int:
            said = environment.first_line("getconf", f"LEVEL{level}_{what}") or ""
            return int(said) if said.isdigit() else 0
        caches = [(system(x, "SIZE") >> 10, system(x, "ASSOC"), len(cores) if x[0] == "3" else 1)
                  for x in ("1_DCACHE", "2_CACHE", "3_CACHE")]
    groups.append((_numbers(environment.read(f"{cpu}/cpu{first}/topology/package_cpus_list")) & set(cores),
                   "a socket"))
    groups.append((set(cores), "all"))
    layers: list[tuple[int, str, int]] = []
    inner = {first}
    for sharing, why in groups:
        beyond = sorted(sharing - inner)
        if beyond and first in sharing:
            layers.append((len(sharing), why, beyond[0]))
            inner |= sharing
    cores.sort(key=lambda n: (environment.read(f"{cpu}/cpu{n}/topology/physical_package_id") or "", n))
    return cores, layers[:5], caches


# -- running --------------------------------------------------------------------------------------

def runner(native: Path, simulated: Path) -> Run:
    def run(machine: Path | None, args: list[str]) -> Samples:
        env = {k: v for k, v in os.environ.items() if not k.startswith("TENTER_")}
        if machine is not None:
            env["TENTER_MACHINE"] = str(machine)
        command = [str(native if machine is None else simulated), "--json", "--workers", "2", *args]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            raise Stop(f"sim --calibrate: {Path(command[0]).name} ended with {done.returncode}: {last[0]}")
        out: Samples = {}
        for sample in json.loads(done.stdout)["samples"]:
            if not sample["warmup"]:
                out.setdefault(sample["metric"], []).append(float(sample["value"]))
        return out
    return run


def lower(values: list[float]) -> float:
    """The lower quartile: other work only adds to a time."""
    return float(statistics.quantiles(values, n=4)[0]) if len(values) > 1 else values[0]


def spread(values: list[float]) -> float:
    """How far the lower quartile is from the least, relative to it."""
    return 1 - min(values) / lower(values) if lower(values) > 0 else 0.0


def measured(samples: Samples, name: str, notes: list[str], most: float = float("inf")) -> float | None:
    """The time of a kernel, unless it says nothing: not measured, noisy, or beyond belief."""
    values = samples.get(name, [])
    if not values:
        return None
    time = lower(values)
    if spread(values) > NOISE or time > most:
        notes.append(f"{name}: too noisy ({_short(min(values))} to {_short(time)} ns in a quarter of the samples)")
        return None
    return time


class Calibration:
    """Solves for one figure after the other."""

    def __init__(self, root: Path, run: Run, scratch: Path) -> None:
        self.run, self.scratch = run, scratch / "host.yaml"
        self.machine = Machine({k: Figure(v, f"not measured: of {DEFAULTS} [D]") for k, v in defaults(root).items()})
        self.notes: list[str] = []

    def simulated(self, cases: str, args: list[str] | None = None) -> dict[str, float]:
        self.scratch.write_text(self.machine.text(), encoding="utf-8")
        said = self.run(self.scratch, ["--case", cases, "--reps", "1", "--ms", "1", *(args or [])])
        return {name: values[-1] for name, values in said.items()}

    def keep(self, name: str, value: float, samples: list[float], what: str) -> None:
        self.machine.set(name, value)
        self.machine.figures[name].comment = (f"{what}: {_short(lower(samples))} ns, least {_short(min(samples))}, "
                                              f"{len(samples)} samples [M]")

    def instructions(self, samples: Samples) -> None:
        """What an instruction and a hit cost, so that the relative errors over the work kernels are least."""
        there = [k for k in WORK if measured(samples, k, self.notes) is not None]
        if len(there) < 3:
            self.notes.append("instruction: fewer than three work kernels could be measured")
            return
        time = {k: lower(samples[k]) for k in there}
        count: dict[str, dict[str, float]] = {}
        base = {"instruction": 0.1, "hit": 0.1}
        for name in ("", *base):
            for key, value in base.items():
                self.machine.set(key, value + (0.1 if key == name else 0.0))
            count[name] = self.simulated(",".join(there))
        rows = [tuple((count[n][k] - count[""][k]) / 0.1 / time[k] for n in base) for k in there]
        x, y = least(rows)
        errors = [abs(a * x + b * y - 1) for a, b in rows]
        error = statistics.median(errors)
        said = f"error over {len(there)} kernels: median {100 * error:.0f} %, greatest {100 * max(errors):.0f} % [M]"
        if error > FIT:
            self.notes.append(f"instruction: {POOR} ({100 * error:.0f} %, at most {100 * FIT:.0f} % is good): what is "
                              "simulated with it is off by as much; calibrate again when nothing else runs")
        self.machine.figures["instruction"] = Figure(x, said)
        self.machine.figures["hit"] = Figure(y, "with `instruction`, by the same kernels [M]")

    def solve(self, name: str, samples: Samples) -> None:
        """Linear in the figure: two simulated runs tell."""
        start = self.machine.figures[name].value
        guess = float(start[0] if isinstance(start, list) else start) or 1.0
        if name == "interrupt":                     # twice the guess must leave the other core some of a fence's time
            guess = min(guess, self.machine.figures["heavy"].value / 4)
        time = measured(samples, name, self.notes, BELIEF * guess)
        if time is None:
            return
        took = []
        for value in (guess, 2 * guess):
            self.machine.set(name, value)
            took.append(self.simulated(name).get(name, 0.0))
        if took[1] <= took[0]:
            self.machine.set(name, guess)
            self.notes.append(f"{name}: its kernel does not depend on it")
            return
        value = guess + (time - took[0]) / (took[1] - took[0]) * guess
        if value < 0:
            self.notes.append(f"{name}: its kernel is faster here than the simulator's without it; 0 is taken")
        self.keep(name, max(value, 0.0), samples[name], "its kernel")

    def caches(self, found: list[tuple[int, int, int]]) -> None:
        """What the system says of the caches, where it is all there: as many levels, whose ways divide their lines."""
        figures = self.machine.figures
        if len(found) == len(figures["capacity"].value) and found[0][2] == 1 and all(
                ways and kib * 16 % ways == 0 and sharing for kib, ways, sharing in found):
            for name, values in zip(("capacity", "ways", "sharing"), zip(*found)):
                figures[name] = Figure(list(values), "of each level of caches [S]")
        else:
            self.notes.append("the system does not say all of its caches: "
                              f"{', '.join(f'{kib} KiB in {ways} ways' for kib, ways, _n in found) or 'nothing'}")

    def layers(self, cores: list[int], layers: list[tuple[int, str, int]], passes: dict[int, list[float]]) -> None:
        """Distances. The first is solved for; the farther ones are in proportion of their round trips."""
        wide = [width for width, _why, _core in layers] or [1]
        figures = self.machine.figures
        figures["cores"] = Figure(len(cores), "one processor of each core that this process may use [S]")
        figures["layers"] = Figure(wide[:4], "; ".join(why for _w, why, _c in layers) + " [S]" if layers else "one core [S]")
        first = passes.get(layers[0][2]) if layers else None
        near = figures["transfer"].value[0]
        trips = [near * (lower(passes[c]) / lower(first) if first and c in passes else 1.0)
                 for _w, _y, c in layers] or [near]
        trips = list(itertools.accumulate(trips + [trips[-1]], max))    # noise does not make what is far come sooner
        figures["transfer"].value = trips[:len(wide[:4]) + 1]


def least(rows: list[tuple[float, ...]]) -> tuple[float, float]:
    """x, y >= 0 that make a*x + b*y nearest to 1 over the rows."""
    aa, ab, bb = (sum(r[i] * r[k] for r in rows) for i, k in ((0, 0), (0, 1), (1, 1)))
    a, b = (sum(r[i] for r in rows) for i in (0, 1))
    det = aa * bb - ab * ab
    x, y = ((a * bb - b * ab) / det, (b * aa - a * ab) / det) if abs(det) > 1e-12 * aa * bb else (-1.0, -1.0)
    if x >= 0 and y >= 0:
        return x, y
    candidates = [(a / aa if aa else 0.0, 0.0), (0.0, b / bb if bb else 0.0)]
    return min(candidates, key=lambda c: sum((r[0] * c[0] + r[1] * c[1] - 1) ** 2 for r in rows))


def calibrate(root: Path, run: Run, scratch: Path, processors: list[int] | None = None) -> Calibration:
    """Measures, solves; the file is not written yet."""
    cores, layers, caches = topology(allowed=set(processors) if processors else None)
    allowed = sorted(os.sched_getaffinity(0))
    rank = {n: i for i, n in enumerate(allowed)}
    two = bool(layers)
    names = [*WORK, *DIRECT, *(n for n in SOLVED if two or n not in TWO)]
    peer = rank.get(layers[0][2], 1) if two else 0
    samples: Samples = {}
    for i in range(INVOCATIONS):
        say(f"measuring, {i + 1} of {INVOCATIONS}")
        said = run(None, ["--case", ",".join(n for n in names if n not in TWO), *ONE_CORE])
        if two:                                     # a repetition starts a thread: longer ones
            said.update(run(None, ["--case", ",".join(TWO), *TWO_CORES, "--peer", str(peer)]))
        for name, values in said.items():
            samples.setdefault(name, []).extend(values)
    passes = {layers[0][2]: samples["transfer"]} if two and "transfer" in samples else {}
    for _width, _why, core in layers[1:]:
        passes[core] = run(None, ["--case", "transfer", *TWO_CORES, "--peer", str(rank.get(core, core))])["transfer"]
    out = Calibration(root, run, scratch)
    if not two:
        out.notes.append(f"one core only: {', '.join(TWO)} could not be measured")
    out.instructions(samples)
    for name in DIRECT:
        value = measured(samples, name, out.notes)
        if value is not None:
            out.keep(name, value, samples[name], "read by read" if name == "memory" else "of two hogs on one core")
    for name in SOLVED:
        out.solve(name, samples)
    out.layers(cores, layers, passes)
    out.caches(caches)
    slack = environment.number("/proc/self/timerslack_ns")
    if slack is not None:
        out.machine.figures["slack"] = Figure(slack, "of this process's timers [S]")
    out.notes.append("not measurable from here: " + ", ".join(
        k for k, f in out.machine.figures.items() if f.comment.endswith("[D]") and k not in SOLVED + DIRECT))
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    out.machine.head = [
        f"This machine: {environment.cpu_model() or 'unknown processor'}, {len(cores)} cores, calibrated {date}.",
        f"Sources: [M] measured by ./tenter sim --calibrate; [S] the system says so; [D] the default, of {DEFAULTS}.",
        *(f"Note: {note}." for note in out.notes)]
    return out


def write(root: Path, machine: Machine) -> Path:
    """Whole or not at all."""
    file = root / FILE
    file.parent.mkdir(exist_ok=True)
    scratch = file.with_name(file.name + ".new")
    scratch.write_text(machine.text(), encoding="utf-8")
    os.replace(scratch, file)
    return file


def main(root: Path, builder: Builder) -> int:
    programs = []
    for options in ({"schedulers": "fifo"}, {"schedulers": "fifo", "runtime": "sim"}):
        built = build(builder, Variant.of(options), [PROGRAM])
        if PROGRAM not in built.programs:
            raise Stop(f"sim --calibrate: {PROGRAM} is not built: {built.problems[PROGRAM]} (see {built.log})")
        programs.append(built.programs[PROGRAM])
    with tempfile.TemporaryDirectory() as scratch:
        done = calibrate(root, runner(*programs), Path(scratch))
    file = write(root, done.machine)
    print(done.machine.text(), end="")
    print(f"written to {file}")
    bad = [n.split(":")[0] for n in done.notes if "too noisy" in n or POOR in n]
    if bad:
        say(f"not to be relied on: {', '.join(bad)} (the file's notes say why): calibrate again when nothing else runs")
    return INCOMPLETE if bad else 0
