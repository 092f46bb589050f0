#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmark of the explorer, once for each program: it finds what it must, in little memory.

    explore.py EXPLORE
"""
from __future__ import annotations

import json
import subprocess
import sys

faults: list[str] = []
for golden in ("inc", "msq", "sb", "writers"):
    for workers in ("1", "2"):
        done = subprocess.run([sys.argv[1], "--json", "--warmup", "0", "--reps", "1", "--golden", golden, "--workers", workers],
                              capture_output=True, text=True, timeout=200, check=False)
        said = json.loads(done.stdout) if done.returncode == 0 else {"status": done.stderr}
        if said["status"] != "ok":
            faults.append(f"{golden}, {workers}: {said}")
            continue
        values = {s["metric"]: s["value"] for s in said["samples"]}
        if set(values) != {"time", "cpu", "throughput", "throughput_cpu", "memory", "startup"} or min(values.values()) <= 0:
            faults.append(f"{golden}, {workers}: {values}")
        if values["memory"] > 20 * 1024:
            faults.append(f"{golden}: {values['memory']} KiB, where 20 MiB are the goal")
print("\n".join(faults) or "explore: good")
sys.exit(1 if faults else 0)
