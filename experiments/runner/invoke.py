# SPDX-License-Identifier: MIT
"""One invocation becomes one row."""
from __future__ import annotations

import os
import shlex
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from . import calibrate, child, counters, environment, sim_where, store
from .build import Build, Variant
from .plan import Invocation
from .store import Results

ROOT = Path(__file__).resolve().parents[2]


def invoke(results: Results, invocation: Invocation, variant: Variant, built: Build,
           binary: str | None, env_id: str) -> dict[str, Any]:
    """Runs it, keeps its output, and returns its row; nothing runs where nothing was built."""
    cell, block = invocation.cell, invocation.block
    row: dict[str, Any] = {
        "schema": 1, "cell": cell.id(binary), "block": block, "order": invocation.order,
        "status": "skipped", "message": None, "program": cell.program, "params": cell.params,
        "options": cell.options,
        "build": variant.asked(),
        "optional": cell.optional, "oversubscribed": cell.oversubscribed,
        "binary": None, "binary_file": binary, "env_id": env_id, "seed": invocation.seed,
        "reps": cell.reps, "warmup": cell.warmup, "program_params": None,
        "samples": [], "hist": {}, "counters": {}, "unavailable": {}, "clock": None, "load_kind": None,
        "rusage": None, "load": list(os.getloadavg()), "steal_pct": None,
        "isolated": environment.isolated(), "output_path": None, "timeout_s": cell.timeout,
        "started": datetime.now(timezone.utc).isoformat(timespec="milliseconds"), "wall_s": 0.0}
    path = built.programs.get(cell.program)
    if path is not None:
        more = {**simulated(cell.variables()), **counters.variables({**cell.options, **cell.params})}
        _run(results, row, [str(path), *cell.arguments(invocation.seed)], cell.timeout, more)
    elif cell.program in built.absent:
        row["message"] = (f"{built.problems[cell.program]}; ./tenter doctor says what may be "
                          "missing")
    else:
        row.update(status="failed", output_path=f"output/build-{variant.name}.txt",
                   message=f"does not compile: {built.problems[cell.program]}")
    return row


def simulated(variables: dict[str, str]) -> dict[str, str]:
    """The machine 'host' is a file of the user's."""
    if variables.get("TENTER_MACHINE") != "host":
        return variables
    return {**variables, "TENTER_MACHINE": str(calibrate.path(ROOT))}


def _run(results: Results, row: dict[str, Any], command: list[str], timeout: float,
         more: dict[str, str]) -> None:
    before = environment.processor_times()
    ended = child.run(command, timeout, more)
    row.update(status=ended.status, message=ended.message, rusage=ended.rusage,
               started=ended.started, wall_s=round(ended.wall, 6),
               steal_pct=environment.steal(before, environment.processor_times()))
    if ended.said is not None:
        said = ended.said
        if "sim" in said:
            sim_where.name_record(said, Path(command[0]))
        row.update(binary=said["binary"], program_params=said.get("params"),
                   samples=said["samples"], hist=said.get("hist") or {},
                   **({"sim": said["sim"]} if "sim" in said else {}),
                   counters=said.get("counters") or {},
                   unavailable=said.get("unavailable") or {}, clock=said.get("clock"),
                   load_kind=said.get("load"))
        if "sim" in row:                            # nothing else in the row depends on where it was simulated
            row["sim"]["host"] = {**row["sim"].get("host", {}), **{k: row.pop(k) for k in store.OF_HOST}}
    text = ("$ " + shlex.join(command) + "\n").encode() + ended.stdout
    if ended.stderr:
        text += b"\n--- standard error ---\n" + ended.stderr
    row["output_path"] = results.output(f"{row['cell']}-{row['block']}.txt", text)
