#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How far the instructions that the simulator counts are from those of a native build: `meson test --benchmark sim_instructions`.

Native ones are counted by callgrind, in a build without vector code, which is not simulated either (docs/simulating.md).
One worker; of each program two runs that differ in their length only, whose difference is held against each other.
Exit code 1: one of them is off by more than MOST, or the median of how far they are off is more than MEDIAN.
"""
from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from experiments.runner.build import MesonBuilder, Variant, build  # noqa: E402

MOST, MEDIAN = 0.25, 0.1
COMMON = ["--workers", "1", "--reps", "1", "--warmup", "0", "--json"]
#: what it does most: program, what it is told, the option that says how long, and two lengths
PROGRAMS: dict[str, tuple[str, list[str], str, tuple[int, int]]] = {
    "a packet is scanned": ("packet", [], "--packets", (1000, 3000)),
    "spawns": ("ranks", ["--work", "0", "--backlog", "100"], "--tasks", (2000, 10000)),
    "yields": ("yield", [], "--turns", (2000, 20000)),
    "waits": ("affinity", ["--bytes", "8"], "--turns", (100, 500)),
    "a loop over memory": ("affinity", [], "--turns", (100, 300)),
    "an option is priced": ("wavefront", ["--steps", "300"], "--tables", (2, 6)),
    "chains are aligned": ("wavefront", ["--problem", "align"], "--tables", (2, 6))}
NATIVE = {"schedulers": "fifo", "poller": "null", "c_args": "-fno-tree-vectorize"}
SIMULATED = {"schedulers": "fifo", "runtime": "sim"}


def built(options: dict[str, str]) -> dict[str, Path]:
    done = build(MesonBuilder(ROOT, say=print), Variant.of(options), sorted({program for program, *_rest in PROGRAMS.values()}))
    if done.problems:
        raise SystemExit(f"sim_instructions: {done.problems}")
    return done.programs


def native(command: list[str]) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        run = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch}/out", *command],
                             capture_output=True, text=True, timeout=600, check=True)
    found = re.search(r"Collected : (\d+)", run.stderr)
    assert found is not None, run.stderr
    return int(found[1])


def simulated(command: list[str]) -> int:
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    return int(json.loads(run.stdout)["sim"]["instructions"])


def main() -> int:
    if shutil.which("valgrind") is None:
        print("sim_instructions: no valgrind: skipped")
        return 77
    here, there = built(NATIVE), built(SIMULATED)
    off = []
    for name, (program, told, option, (few, many)) in PROGRAMS.items():
        runs = [[*COMMON, *told, option, str(length)] for length in (few, many)]
        short, long = (native([str(here[program]), *run]) for run in runs)
        less, more = (simulated([str(there[program]), *run]) for run in runs)
        ratio = (more - less) / (long - short)
        off.append(abs(ratio - 1))
        print(f"{name:20} {(long - short) / (many - few):9.0f} instructions for each of {option}, simulated {ratio:.2f} times as many")
    print(f"off by {statistics.median(off):.0%} (median), {max(off):.0%} at most")
    return 0 if max(off) <= MOST and statistics.median(off) <= MEDIAN else 1


if __name__ == "__main__":
    sys.exit(main())
