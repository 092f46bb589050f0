#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The workloads that have a right answer, which is published or that of a plain loop: each size and way gives it.

    answers.py WAVEFRONT MIXER HASTY

HASTY is a mixer whose fibres wait for nobody: it is to call its answers wrong.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

ENV = {k: v for k, v in os.environ.items() if not k.startswith("TENTER_")}
faults: list[str] = []


def run(program: str, *words: str, code: int = 0) -> dict[str, Any]:
    command = [program, "--json", "--hist", "--warmup", "0", "--reps", "2", *words]
    done = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != code or (code != 0 and len(done.stderr.strip().splitlines()) != 1):
        faults.append(f"{' '.join(command)}: exit {done.returncode}, not {code}: {done.stderr.strip()}")
        return {}
    return dict(json.loads(done.stdout)) if code == 0 else {}


def values(said: dict[str, Any], metric: str) -> list[float]:
    return [s["value"] for s in said.get("samples", []) if s["metric"] == metric]


def wavefront(program: str) -> None:
    # Hull's American put with 5 to 500 steps, his call (to the two digits that are printed), EMBOSS's alignment
    puts = {"5": 4.49, "30": 4.263, "50": 4.272, "100": 4.278, "500": 4.283}
    cells = [("put", steps, digits, answer) for steps, answer in puts.items() for digits in [2 if steps == "5" else 3]]
    cells += [("call", "500", 2, 4.76), ("align", "2", 1, 293.5)]
    for problem, steps, digits, answer in cells:
        for spawn in ("all", "next"):
            for side in ("2", "7", "16", "512"):
                said = run(program, "--problem", problem, "--steps", steps, "--side", side, "--spawn", spawn,
                           "--tables", "2", "--workers", "2")
                got = [round(v, digits) for v in values(said, "answer")]
                if got != [answer, answer] or min(values(said, "throughput") + values(said, "plain"), default=0) <= 0:
                    faults.append(f"{problem}, {steps} steps, side {side}, spawn {spawn}: {got}, not {answer}")
    for wrong in (("--side", "1"), ("--steps", "1"), ("--tables", "0"), ("--problem", "bond"), ("--spawn", "none")):
        run(program, *wrong, code=2)


def mixer(program: str) -> None:
    """Every frame is sent where there is time enough, with what the others say; else what was not is counted."""
    calm = ("--deadline", "4000", "--give-up", "4000", "--frames", "5", "--workers", "2")
    has_opus = subprocess.run([program, "--codec", "opus", "--calls", "1", "--frames", "2", "--reps", "1"], env=ENV,
                              capture_output=True, timeout=60, check=False).returncode != 77
    for codec in ("ulaw", "alaw", "opus", "mixed"):
        if not codec.endswith("law") and not has_opus:
            run(program, "--codec", codec, code=77)
            continue
        for wait_by in ("promise", "yield"):
            for legs in ("1", "2", "5"):
                for _again in range(5):     # where this machine stood still for longer than the greatest deadline there is
                    said = run(program, "--codec", codec, "--wait-by", wait_by, "--legs", legs, "--calls", "4", *calm)
                    sent = sum(n for _low, _high, n in said["hist"]["latency"]["buckets"]) if said else 0
                    good = said.get("status") == "ok" and sent == 2 * 4 * 5 * int(legs) and values(said, "missed") == [0, 0]
                    if good:
                        break
                else:
                    faults.append(f"mixer {codec}, {wait_by}, {legs} legs: {said.get('status')}, {sent} sent, "
                                  f"{values(said, 'missed')} missed")
                if said.get("load") != "open":
                    faults.append("mixer: frames arrive by the clock, whatever was asked for")
    said = run(program, "--calls", "4000", "--frames", "20", "--deadline", "1", "--give-up", "1", "--workers", "1")
    if not all(0 < u <= m <= 1 for u, m in zip(values(said, "unsent"), values(said, "missed"))):
        faults.append(f"mixer, far too much: {values(said, 'unsent')} unsent, {values(said, 'missed')} missed")
    for wrong in (("--calls", "0"), ("--codec", "gsm"), ("--deadline", "2000"), ("--frames", "1")):
        run(program, *wrong, code=2)


def hasty(program: str) -> None:
    """Of two frames, which all legs keep, the sums are right and what was sent is not; of more, the sums are wrong, too."""
    for frames, what in (("2", "not what the same call mixed alone sends"), ("5", "not the sums of the same call")):
        command = [program, "--warmup", "0", "--reps", "1", "--calls", "4", "--frames", frames, "--deadline", "4000",
                   "--give-up", "4000", "--workers", "1"]
        done = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 1 or what not in done.stdout:
            faults.append(f"a mixer that waits for nobody, {frames} frames: exit {done.returncode}, {done.stdout}")


wavefront(sys.argv[1])
mixer(sys.argv[2])
hasty(sys.argv[3])
print("\n".join(faults) or "answers: ok")
sys.exit(1 if faults else 0)
