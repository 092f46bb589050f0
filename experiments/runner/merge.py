# SPDX-License-Identifier: MIT
"""`run --merge`: one results folder out of several that hold parts of one run (its shards, say)."""
from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Sequence

from . import matrix as matrices, outcome, plan
from .errors import Stop
from .outcome import FINISHED, Outcome
from .progress import say
from .store import Results, mark_latest, of_host, read_lines

#: of run.json: where these differ, the folders are parts of different runs
SAME = ("matrix", "quick", "seed", "order", "cores")

Binaries = dict[tuple[str, str], str]


class _Part:
    """A results folder, as it was found; it is not changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / "run.json").exists():
            raise Stop(f"--merge {folder}: no results folder (it holds no run.json)")
        try:
            self.run: dict[str, Any] = json.loads((folder / "run.json").read_text("utf-8"))
            self.matrix = (folder / "matrix.yaml").read_text("utf-8")
            self.rows = read_lines(folder / "rows.jsonl")[0]
            self.envs = read_lines(folder / "env.jsonl")[0]
        except (OSError, ValueError) as error:
            raise Stop(f"--merge {folder}: {error}") from error
        self.binaries: Binaries = {_variant(r): r["binary_file"] for r in self.rows
                                   if r["binary_file"] is not None}


def _variant(row: dict[str, Any]) -> tuple[str, str]:
    return row["program"], json.dumps(row["build"], sort_keys=True)


def _refuse_strangers(parts: list[_Part]) -> None:
    """They must be of one matrix, run in one way with the same binaries, and share no invocation."""
    first = parts[0]
    binaries: dict[tuple[str, str], tuple[str, Path]] = {}
    seen: dict[tuple[str, int], Path] = {}
    for part in parts:
        for key in SAME:
            if part.run.get(key) != first.run.get(key):
                raise Stop(f"--merge: {key} is {part.run.get(key)} in {part.folder} and "
                           f"{first.run.get(key)} in {first.folder}; only parts of one run can "
                           "be put together")
        if part.matrix != first.matrix:
            raise Stop(f"--merge: {part.folder}/matrix.yaml is not as in {first.folder}; only "
                       "parts of one run can be put together")
        for variant, binary in part.binaries.items():
            other, folder = binaries.setdefault(variant, (binary, part.folder))
            if other != binary:
                raise Stop(f"--merge: {variant[0]} is another binary in {part.folder} than in "
                           f"{folder} (build {variant[1]}); run all parts from one build")
        for row in part.rows:
            place = (row["cell"], row["block"])
            if row["status"] in FINISHED and seen.setdefault(place, part.folder) != part.folder:
                raise Stop(f"--merge: block {row['block']} of {row['program']} {row['params']} is "
                           f"in {seen[place]} and in {part.folder}; parts of a run share none")


def merge(folders: list[Path], name: str | None, out: Path | None, command: str, root: Path,
          results: Path, figures: Sequence[str] | None = None) -> Outcome:
    """Copies rows, environments and output of all folders to a new one, and reports on it as a run
    does. What all of them lack is missing in it, and --resume goes on with it."""
    if len({f.resolve() for f in folders}) < max(2, len(folders)):
        raise Stop("--merge: name at least two different results folders")
    parts = [_Part(f) for f in folders]
    _refuse_strangers(parts)
    was = parts[0].run
    if name is not None and name != was["matrix"]:
        raise Stop(f"{parts[0].folder} is a run of '{was['matrix']}', not of '{name}'")
    machines = {(e.get("host"), e.get("cpu_model")) for p in parts for e in p.envs}
    if len(machines) > 1:
        say(f"note: these were measured on {len(machines)} machines; what is compared should be "
            "of one")
    now = datetime.now(timezone.utc)
    folder = out or results / f"{was['matrix']}-{now.strftime('%Y%m%dT%H%M%SZ')}"
    only = was["only"] if all(p.run["only"] == was["only"] for p in parts) else []
    with Results(folder) as merged:
        if merged.rows:
            raise Stop(f"{folder} holds a run already: name a new folder with --out")
        merged.write("matrix.yaml", parts[0].matrix)
        for part in parts:
            for env in part.envs:
                merged.environment(env)
            for path in sorted((part.folder / "output").glob("*")):
                merged.output(path.name, path.read_bytes())
        rows = sorted((r for p in parts for r in p.rows), key=lambda r: str(of_host(r, "started")))
        for number, row in enumerate(rows):
            merged.append({**row, "order": number})
        merged.write("run.json", json.dumps({        # last: without it this is no results folder
            **was, "only": only, "shard": None, "command": command, "started": now.isoformat(),
            "merged": [str(p.folder) for p in parts]}, indent=1) + "\n")
        mark_latest(folder, results)
        return _report(merged, parts, root, figures)


def _report(merged: Results, parts: list[_Part], root: Path,
            figures: Sequence[str] | None) -> Outcome:
    was = json.loads((merged.folder / "run.json").read_text("utf-8"))
    matrix = matrices.load(root, merged.folder / "matrix.yaml", was["quick"], was["cores"],
                           Path(was["home"]))
    binaries = {variant: b for p in parts for variant, b in p.binaries.items()}

    def identity(cell: matrices.Cell) -> str:
        return cell.id(binaries.get((cell.program, json.dumps(matrix.variant(cell).asked(),
                                                              sort_keys=True))))
    todo = plan.order(plan.only(matrix, was["only"]), was["order"], was["seed"])
    said = outcome.count(merged, todo, identity)
    outcome.conclude(merged, said, was["command"], figures)
    return said
