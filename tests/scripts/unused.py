#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a build has no use for costs nothing: instructions of a yield, of a spawn with its join and of a wait with its wake-up,
counted by callgrind, of tests/instructions_probe.c

    unused.py MODULE PLAIN BESIDE [WAYS FREE]

in builds of one module: PLAIN fixes its knobs to what is plain; BESIDE fixes those that these operations have no use for to
something else; WAYS fixes the others only; FREE leaves all to the run. Checked:

  1. PLAIN has none of the functions of another module;
  2. what is fixed to something else, but of no use, costs no operation an instruction;

and with WAYS and FREE, of the modules whose queues are local:

  3. neither PLAIN nor WAYS has a function of the other ways to ready() and next(); FREE has them (so the check can fail);
  4. a way that is left to the run costs an operation a test at each of its scheduling points, and no more.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WAYS = {"more_ready", "more_next", "more_full", "other_next", "global_ready", "global_next", "request_make"}
FEW, MANY = 1000, 21000
TESTS = {"yield": 2, "spawn": 4, "wait": 2}  # scheduling points of an operation: calls of ready() and of next()
TEST = 4                                     # two loads, a compare and a jump
AGAIN = 8                                    # how often at most what differs is counted anew
NOISE = 0.95                                 # less than an instruction: of what is not the operations, and of chance (multiq)


def functions(program: str) -> set[str]:
    text = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return {name.split(".")[0] for name in re.findall(r"^[0-9a-f]+ [tT] (\S+)$", text, re.M)}


def count(program: str, kind: str, ops: int) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        run = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.path.join(scratch, 'out')}",
                              program, kind, str(ops)], capture_output=True, text=True, timeout=240, check=False)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or found is None:
        sys.exit(f"unused: {program} {kind} under callgrind: exit {run.returncode}\n{run.stderr}")
    return int(found[1])


def each(program: str, kind: str, least: dict[tuple[str, int], int]) -> float:
    """By the least counts so far: what goes by the clock only adds to them."""
    for ops in (MANY, FEW):
        n = count(program, kind, ops)
        least[program, ops] = min(n, least.get((program, ops), n))
    return (least[program, MANY] - least[program, FEW]) / (MANY - FEW)


def main() -> int:
    if shutil.which("valgrind") is None or shutil.which("nm") is None:
        print("unused: no valgrind, or no nm: skipped")
        return 77
    module, plain, beside = sys.argv[1:4]
    ways, free = sys.argv[4:6] if len(sys.argv) > 4 else (None, None)
    modules = {p.name for p in (Path(__file__).parents[2] / "schedulers").iterdir() if p.is_dir()} - {module, "parts"}
    others = re.compile(rf"({'|'.join(sorted(modules))})_(ready|next|steal|drain|may_have_work)$")
    fixed = functions(plain) | (functions(ways) if ways else set())
    faults = [f"{name} is in a build that fixes it away" for name in sorted(fixed & WAYS)]
    faults += [f"{name}: of a module that is not built in" for name in sorted(functions(plain)) if others.match(name)]
    if len(modules) < 8 or (free and len(functions(free) & WAYS) < 4):
        faults.append("the check sees nothing: the other ways are not in the build that has them")
    for kind, points in TESTS.items():
        least: dict[tuple[str, int], int] = {}
        n = {name: each(program, kind, least)
             for name, program in zip(("free", "ways", "plain", "beside"), (free, ways, plain, beside)) if program}
        again = AGAIN
        while abs(n["plain"] - n["beside"]) > NOISE and again > 0:
            again -= 1
            n |= {name: each(program, kind, least) for name, program in (("plain", plain), ("beside", beside))}
        print(f"{module}, {kind}: " + ", ".join(f"{name} {value:.2f}" for name, value in n.items()))
        if abs(n["plain"] - n["beside"]) > NOISE:
            faults.append(f"{kind}: {n['beside']:.2f} instructions, {n['plain']:.2f} with other values of what it has no use for")
        if free and not n["ways"] + NOISE < n["free"] <= n["ways"] + TEST * points:
            faults.append(f"{kind}: {n['free']:.2f} instructions with all left to the run, {n['ways']:.2f} with the ways fixed")
    print("\n".join(faults) or "unused: ok")
    return 1 if faults else 0


sys.exit(main())
