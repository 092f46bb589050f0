# SPDX-License-Identifier: MIT
"""What a run came to: how many invocations have which status, the exit code, and the report."""
from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Sequence

from .errors import GOOD, INCOMPLETE, INTERNAL, WRONG, Stop
from .export import finish
from .matrix import Cell
from .plan import Invocation
from .progress import say
from .store import Results

#: with one of these a row stands for its invocation; without, that is still to be run
FINISHED = ("ok", "failed", "timeout", "skipped", "invalid", "saturated")


@dataclass
class Outcome:
    """The folder of a run, the statuses of its invocations, the exit code."""

    code: int = GOOD
    folder: Path | None = None
    counts: dict[str, int] = field(default_factory=dict)
    invocations: int = 0
    missing: int = 0
    paths: dict[str, str] = field(default_factory=dict)
    plan: dict[str, Any] | None = None


def count(results: Results, todo: list[Invocation], identity: Callable[[Cell], str]) -> Outcome:
    """The outcome so far of the invocations that there are to be."""
    last = {(r["cell"], r["block"]): r for r in results.rows if r["status"] in FINISHED}
    outcome = Outcome(GOOD, results.folder, {}, len(todo), 0,
                      {"rows": str(results.folder / "rows.jsonl")})
    incomplete = False
    for invocation in todo:
        row = last.get((identity(invocation.cell), invocation.block))
        if row is None:
            outcome.missing += 1
            continue
        status = row["status"]
        outcome.counts[status] = outcome.counts.get(status, 0) + 1
        forgiven = status in ("ok", "saturated") or (status == "skipped" and row["optional"])
        incomplete = incomplete or not forgiven
    if outcome.counts.get("invalid"):
        outcome.code = WRONG
    elif incomplete or outcome.missing:
        outcome.code = INCOMPLETE
    return outcome


def conclude(results: Results, outcome: Outcome, command: str,
             figures: Sequence[str] | None) -> None:
    """Tables, figures and report; a report that fails costs no row."""
    folder = results.folder
    if outcome.missing:
        say(f"{outcome.missing} invocations are left: ./tenter run --resume {folder}")
    try:
        outcome.paths.update(finish(results, command, figures))
    except Stop as error:
        say(f"tenter: {error}")
        outcome.code = outcome.code or error.code
    except Exception:                               # pylint: disable=broad-except
        log = folder / "report-error.txt"
        log.write_text(traceback.format_exc(), encoding="utf-8")
        say(f"tenter: the report failed ({sys.exc_info()[1]}; see {log}); the rows are kept: "
            f"./tenter plot {folder}")
        outcome.code = INTERNAL
