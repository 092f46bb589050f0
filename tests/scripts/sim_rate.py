#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How many accesses a second of processor time the simulator does on the packet workload: `meson test --benchmark sim_rate`.

With 128 cores, whose lines change hands, and with capacities besides; held against the same program on one core in the
same run, where nobody is to be waited for.  The rates are this machine's; the ratios are what may be compared.
Exit code 1: with 128 cores it does less than LEAST of what it does with one.
"""
from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEAST, GOAL, ROUNDS = 0.1, 20e6, 3
WAYS = {"1 core": ("--cores", "1"), "128 cores": ("--cores", "128"),
        "128 cores, capacities": ("--cores", "128", "--capacities")}


def rate(options: tuple[str, ...]) -> float:
    done = subprocess.run([sys.executable, "-m", "experiments.runner", "sim", "--json", "-", *options, "packet", "--packets",
                           "5000", "--reps", "1", "--warmup", "0"], cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True,
                          timeout=900, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return float(json.loads(done.stdout)["sim"]["host"]["accesses_per_s"])


def main() -> int:
    said: dict[str, list[float]] = {way: [] for way in WAYS}
    for _round in range(ROUNDS):
        for way, options in WAYS.items():
            said[way].append(rate(options))
    middle = {way: statistics.median(rates) for way, rates in said.items()}
    for way, found in middle.items():
        print(f"{way:24}{found / 1e6:6.1f} M accesses/s, {found / middle['1 core']:.2f} of one core's "
              f"({min(said[way]) / 1e6:.1f} to {max(said[way]) / 1e6:.1f})")
    reached = middle["128 cores"] >= GOAL
    print(f"the goal of {GOAL / 1e6:.0f} M with 128 cores is {'reached' if reached else 'not reached on this machine now'}")
    return 0 if middle["128 cores"] >= LEAST * middle["1 core"] else 1


if __name__ == "__main__":
    sys.exit(main())
