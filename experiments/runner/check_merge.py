# SPDX-License-Identifier: MIT
"""Adds up what the shards of one exploration said."""
from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from . import check_explore as run
from . import check_report as report
from . import output
from .errors import Stop


def _read(name: str) -> dict[str, Any]:
    try:
        part = json.loads(Path(name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Stop(f"--merge: there is no {name}") from None
    except (OSError, ValueError):
        part = None
    if not isinstance(part, dict) or "verdict" not in part or not part.get("shard"):
        raise Stop(f"--merge: {name} is not the --json of a --shard")
    return part


def merge(args: argparse.Namespace) -> int:
    parts = [_read(name) for name in args.merge]
    for name, part in zip(args.merge, parts):
        if part.get("exploration") != parts[0].get("exploration"):
            raise Stop(f"--merge: {name} is of another program than {args.merge[0]}, or was explored with other options")
    shards = {p["shard"] for p in parts}
    total = parts[0]["shard"].split("/")[1]
    if len(parts) != len(shards) or shards != {f"{i}/{total}" for i in range(1, int(total) + 1)}:
        raise Stop("--merge: each shard of one exploration once; these are " + ", ".join(sorted(p["shard"] for p in parts)))
    out = dict(next((p for p in parts if p["verdict"] == "bug"), parts[0]))
    worst = ["ok", "incomplete", "unsupported", "bug"]
    out["verdict"] = max((p["verdict"] for p in parts), key=worst.index)
    for key in ("executions", "blocked", "seconds"):
        out[key] = sum(p[key] for p in parts)
    out["bound"] = ", ".join(w for w in (out["bound"] or "").split(", ") if not w.startswith("part ")) or None
    out["shard"] = None
    if out["verdict"] != "bug":
        seen = [set(p["unexecuted"]) for p in parts if p["unexecuted"] is not None]
        out["unexecuted"] = [x for x in parts[0]["unexecuted"] or [] if all(x in s for s in seen)]
        out["warnings"] = [] if any(not p["warnings"] for p in parts) else parts[0]["warnings"]
    answer = report.Answer(out["verdict"], {key: str(out[key]) for key in ("kind", "executions", "blocked", "seconds") if out[key]},
                           message=out["message"].removeprefix(f"{out['kind']}: "), unexecuted=out["unexecuted"])
    lines = [f"{report.count(len(parts), 'part')}: {run.line(answer, out['bound'], args)}",
             *(f"  warning: {w}" for w in out["warnings"]), *(f"  {n}" for n in report.notes(answer))]
    outputs: list[tuple[str, str | bytes]] = [] if args.json == "-" else [("-", "\n".join(lines) + "\n")]
    if args.json:
        outputs.append((args.json, json.dumps(out) + "\n"))
    output.write_all(outputs, run.CODES[answer.verdict])
    return run.CODES[answer.verdict]
