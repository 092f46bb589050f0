# SPDX-License-Identifier: MIT
"""Where the virtual time of a simulation went: lines by the names of their fields, a picture of the traffic, a trace.

A simulated program writes it to a file (sim/where.c), of which this makes what people look at."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from .errors import Stop

ROOT = Path(__file__).resolve().parents[2]
#: lines of the program's text that are about one line of memory, in the order of the record
_LINE = re.compile(r"^ +\d+ transfers, waited")
ON, OFF, RUN = range(3)
NO_GDB = "gdb is not installed: lines are named by who has asked for them, not by their fields"

#: of a simulation, what becomes metrics (`sim_transfers`), with their units
SIMULATED = {"instructions": "1", "accesses": "1", "transfers": "1", "shared": "1", "cold": "1",
             "stall_ns": "ns", "stalls_per_instruction": "1"}


def metrics(sim: dict[str, Any] | None) -> list[dict[str, Any]]:
    """What a simulation counted, and what its cores waited for, by the name of the field."""
    out, waits = [], {}
    for line in (sim or {}).get("lines") or []:
        name = f"sim_wait {line.get('field') or line['line']}"
        waits[name] = waits.get(name, 0) + line["stall_ns"]
    for name, unit in SIMULATED.items():
        if sim and name in sim:
            out.append({"metric": f"sim_{name}", "unit": unit, "value": sim[name]})
    return out + [{"metric": n, "unit": "ns", "value": v} for n, v in sorted(waits.items())]


# -- names of lines -------------------------------------------------------------------------------

def fields(program: Path, places: list[tuple[int, int]]) -> list[str | None]:
    """Of each (pc, address) what the code there accesses, as `struct cluster.hungry, core/idle.h:259`; None: unknown.
    Empty where gdb did not answer in time: a machine that is busy, or was halted, ends no run."""
    asked = " ".join(f"{pc}:{at}" for pc, at in places if pc)
    if not asked or shutil.which("gdb") is None:
        return [None] * len(places)
    env = {**os.environ, "FIELDS": asked, "ROOT": str(ROOT), "DEBUGINFOD_URLS": ""}
    try:
        done = subprocess.run(["gdb", "-nx", "-batch", "-x", str(ROOT / "tools/gdb/fields.py"), str(program)], env=env,
                              capture_output=True, text=True, check=False, timeout=120)
    except subprocess.TimeoutExpired:
        return []
    try:
        said: dict[str, dict[str, str | None]] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return [None] * len(places)
    out = []
    for pc, at in places:
        found = said.get(f"{pc}:{at}", {})
        words = [w for w in (found.get("field"), found.get("source")) if w]
        out.append(", ".join(words) or None)
    return out


#: what gdb has said of a (program, pc, address): each block of a run asks for the same ones
_asked: dict[tuple[Path, int, int], str | None] = {}


def name_record(said: dict[str, Any], program: Path) -> None:
    """Each line of a record gets `field`: null where nobody knows."""
    lines = said["sim"]["lines"]
    new = [p for p in dict.fromkeys((x["pc"], x["at"]) for x in lines)
           if (program, *p) not in _asked]
    if new:
        _asked.update(zip([(program, *p) for p in new], fields(program, new)))
    for line in lines:
        line["field"] = None if "arena of malloc" in line["line"] else \
            _asked.get((program, line["pc"], line["at"]))


def name_text(text: str, where: dict[str, Any], program: Path) -> str:
    """The same in what the program prints for people."""
    names = iter(fields(program, [tuple(x) for x in where["lines"]]))
    out = []
    for line in text.split("\n"):
        field = next(names, None) if _LINE.match(line) else None
        out.append(f"{line} ({field})" if field and "arena of malloc" not in line else line)
    return "\n".join(out)


# -- the picture ----------------------------------------------------------------------------------

def matrix(where: dict[str, Any]) -> list[list[int]]:
    out = [[0] * where["cores"] for _ in range(where["cores"])]
    for source, to, n in where["traffic"]:
        out[source][to] = n
    return out


def draw(where: dict[str, Any], machine: str, path: Path) -> None:
    """Who hands lines to whom: rows give, columns take."""
    sys.path.insert(0, str(ROOT / "plots"))
    import style                                        # needs matplotlib, which nothing else here does
    from matplotlib.colors import LogNorm
    table = matrix(where)
    most = max(map(max, table))
    if most == 0:
        raise Stop("sim --traffic: no line went from one core to another; nothing to draw")
    fig, (ax,) = style.page(1, style.COLUMN, [f"Lines that a core owned and another one took. {machine}, simulated: a "
                                             "prediction. White: none."], legend_rows=0, height=2.5)
    ax.grid(False)
    shown = ax.imshow([[n or float("nan") for n in row] for row in table], cmap="viridis", aspect="equal",
                      norm=LogNorm(min(n for row in table for n in row if n), max(most, 2)), interpolation="nearest")
    ax.set_xlabel("taken by core")
    ax.set_ylabel("owned by core")
    fig.colorbar(shown, ax=ax, fraction=0.045).ax.set_title("lines")
    try:
        fig.savefig(path, dpi=200)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise Stop(f"sim --traffic {path}: {why}") from error


# -- the trace ------------------------------------------------------------------------------------

def trace(where: dict[str, Any], machine: str) -> dict[str, Any]:
    """Trace events as Perfetto and chrome://tracing take them, in virtual microseconds: a track for each thread, with the
    fibres that ran and the times that it had no core."""
    events: list[dict[str, Any]] = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": f"{machine} (simulated)"}}]
    fibres: dict[int, int] = {}
    doing: dict[int, tuple[str, int]] = {}
    away: dict[int, int] = {}

    def end(thread: int, at: int) -> None:
        what = doing.pop(thread, None)
        if what is not None and at > what[1]:
            events.append({"ph": "X", "pid": 1, "tid": thread, "name": what[0], "cat": "fibre", "ts": what[1] / 1000,
                           "dur": (at - what[1]) / 1000})

    current: dict[int, int] = {}
    for kind, thread, at, fibre in where["events"]:
        if kind == RUN:
            end(thread, at)
            current[thread] = fibre
        elif kind == OFF:
            end(thread, at)
            away[thread] = at
        elif thread in away:
            events.append({"ph": "X", "pid": 1, "tid": thread, "name": "no core", "cat": "off", "ts": away[thread] / 1000,
                           "dur": (at - away.pop(thread)) / 1000})
        if kind != OFF and current.get(thread):
            number = fibres.setdefault(current[thread], len(fibres))
            doing[thread] = (f"fibre {number}", at)
    for thread in list(doing):
        end(thread, where["end_ns"])
    for thread in sorted({e["tid"] for e in events if "tid" in e}):
        worker = where["workers"].get(str(thread))
        events.append({"ph": "M", "pid": 1, "tid": thread, "name": "thread_name",
                       "args": {"name": f"worker {worker}" if worker is not None else f"thread {thread}"}})
    return {"displayTimeUnit": "ns", "otherData": {"clock": "virtual", "machine": machine, "cut": where["cut"]},
            "traceEvents": events}
