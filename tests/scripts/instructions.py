#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions of single operations, counted by callgrind: no timing, so a test can decide by it. A yield; a spawn with
its join; a wait with its wake-up, without and with a deadline that never comes. And the wheel cancels and arms a timer in
constant time: by as many instructions among a hundred thousand as among a thousand. Then a yield, a spawn and a wait
under each module, through the table.

    instructions.py PROBE PROBE_OF_ALL_MODULES

Two runs that differ in nothing but the number of operations; the difference is that of the operations.
LIMIT is what gcc 12 -O3 makes, and a margin of a quarter: whoever makes a path longer than that finds it here.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT = {"yield": 225, "spawn": 660, "wait": 473, "timed": 696,
         "wheel_few": 208, "wheel_many": 208}
MODULES = {"fifo": (316, 827, 467), "fifo:private=0": (316, 782, 427),
           "lifo": (303, 803, 456), "hybrid": (392, 975, 551),
           "hybrid:policy=reverse": (370, 929, 529), "sharded": (320, 1076, 448),
           "sharded:bound=0": (454, 1313, 584), "multiq": (536, 1307, 662),
           "staged": (740, 1747, 868), "pushing": (423, 1104, 551),
           "skeleton": (244, 656, 375), "yields": (306, 748, 436)}
FEW, MANY = 2000, 12000


def count(probe: str, kind: str, ops: int, module: str | None) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        run = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.path.join(scratch, 'out')}",
                              probe, kind, str(ops)], capture_output=True, text=True, timeout=240, check=False,
                             env={**os.environ, "TENTER_SCHEDULER": module} if module else None)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or found is None:
        print(run.stderr)
        sys.exit(f"instructions: {probe} {kind} under callgrind: exit {run.returncode}")
    return int(found[1])


def each(probe: str, kind: str, module: str | None = None) -> float:
    few, many = (FEW // 4, MANY // 4) if module else (FEW, MANY)
    return (count(probe, kind, many, module) - count(probe, kind, few, module)) / (many - few)


def main() -> int:
    if shutil.which("valgrind") is None:
        print("instructions: no valgrind: skipped")
        return 77
    faults = []
    for kind, limit in LIMIT.items():
        n = each(sys.argv[1], kind)
        print(f"{kind}: {n:.1f} instructions an operation, at most {limit}")
        if not limit / 4 < n <= limit:
            faults.append(f"{kind}: {n:.1f} instructions an operation: {'more than the limit' if n > limit else 'too few to be true'}")
    for module, limits in MODULES.items():
        for kind, limit in zip(("yield", "spawn", "wait"), limits):
            n = each(sys.argv[2], kind, module)
            print(f"{kind} under {module}: {n:.1f} instructions an operation, at most {limit}")
            if not limit / 4 < n <= limit:
                faults.append(f"{kind} under {module}: {n:.1f} instructions an operation")
    few, many = each(sys.argv[1], "wheel_few"), each(sys.argv[1], "wheel_many")
    print(f"wheel: {few:.1f} instructions among a thousand timers, {many:.1f} among a hundred thousand")
    if not 10 < few or many > 1.1 * few:
        faults.append(f"wheel: {few:.1f} instructions among a thousand timers, {many:.1f} among a hundred thousand")
    print("\n".join(faults) or "instructions: ok")
    return 1 if faults else 0


sys.exit(main())
