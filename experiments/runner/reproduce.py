# SPDX-License-Identifier: MIT
"""The verb `reproduce`: run the matrix of a row, draw its figures, judge each of its claims."""
from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pandas as pd

from . import claims, figures, model, points, stats, tidy
from .arguments import Parser
from .errors import GOOD, INCOMPLETE, INTERRUPTED, UNSUPPORTED, WRONG, Stop, nearest

ROOT = Path(__file__).resolve().parents[2]
#: title and metric of each column of the printed table; what the data do not have is left out
COLUMNS = (("throughput", "throughput"), ("time", "time"), ("p50", "latency_p50_ns"),
           ("p99", "latency_p99_ns"), ("p99.99", "latency_p99_99_ns"), ("retries", "retries"),
           ("steals", "counter_steal_try"), ("that hit", "counter_steal_hit"),
           ("stalls an instruction", "sim_stalls_per_instruction"),
           ("a line", "line"), ("working", "utilisation"), ("livelock", "livelock"), ("yields a task", "yields"), ("a yield", "yield"),
           ("cpu each", "cpu"), ("memory each", "memory"), ("idle share", "idle_share"),
           ("at home", "at_home"), ("moves", "moves"), ("imbalance", "imbalance"),
           ("made again", "create_again"), ("made first", "create_first"),
           ("instructions a switch", "yield_instructions"),
           ("system calls a switch", "yield_syscalls"), ("switch", "yield_time"),
           ("yield of two", "yield_2"), ("spawn and join", "spawn_join"),
           ("spawn and join 100, each", "spawn_join_100"), ("ping-pong", "ping_pong"), ("fork and join", "fork_join"),
           ("wait and wake", "wait_wake"), ("suspend and wake", "suspend_wake"),
           ("end, detached", "end_detached"), ("restart", "restart"), ("cancel", "cancel"),
           ("expire", "expire"), ("instructions a call", "call_instructions"), ("call", "call_time"))
#: factors that the series or the axis says already
SAID = ("scheduler", "program", "param_program")
PERCENTILE = re.compile(r"(\w+?)_p([0-9_]+)_ns")
#: behind an interval of fewer than stats.FEW blocks
FEW_MARK = "†"
#: what a results folder has: the record of runs, or (a row that is computed) its table alone
KEPT = ("rows.jsonl", "tidy.csv")
#: docs/sources.md says it in full
WORKS = ("M Modelski (draft on schedulers), B Barghi, A Qin (Arachne), E Gaud et al. (Mely), "
         "H Morrison (Hanging by a Thread), T goals of this project; in full: docs/sources.md")


def parser() -> Parser:
    out = Parser(
        "reproduce",
        description="Run what a result of the source works needs, draw it in its own axes, and "
                    "judge each claim: holds, does not hold, or not decidable here.",
        epilog="Exit codes: 0 every claim has a verdict, whichever; 1 with --strict where a claim "
               "does not hold, or a program gave a wrong answer; 2 usage; 3 nothing could be "
               "judged; 77 the row is not available yet; 130 interrupted.")
    add = out.add_argument
    add("id", nargs="?", metavar="ID", help="row, as --list shows it (M7.1)")
    add("--quick", action="store_true", help="fewer blocks, repetitions and packets; the row's "
        "first figure only (./tenter plot draws all)")
    add("--strict", action="store_true", help="exit 1 where a claim does not hold")
    add("--list", action="store_true", help="the rows, and which of them can be run")
    add("--json", action="store_true", help="one JSON object on standard output")
    add("--from", dest="source", type=Path, metavar="DIR",
        help="judge a results folder that is there already, run nothing")
    add("--out", type=Path, metavar="DIR", help="results folder (default: results/ID-UTCTIME "
        "beside ./tenter)")
    return out


def find(row_id: str) -> dict[str, Any]:
    """The row of this ID, in any case of its letters; an unknown one names the nearest."""
    by_id = {str(r["id"]): r for r in claims.rows()}
    for name, row in by_id.items():
        if name.lower() == row_id.lower():
            return row
    near = nearest(row_id.upper(), by_id)
    raise Stop(f"unknown row '{row_id}' ({near}; --list shows all {len(by_id)})")


def main(argv: list[str]) -> int:
    args = parser().parse(argv)
    if args.list:
        return _list(args.json)
    if args.id is None:
        raise Stop("which row? ./tenter reproduce ID (--list shows them)")
    row = find(args.id)
    if not row["available"]:
        raise Stop(f"{row['id']} is not available yet: it needs {' and '.join(row['needs'])}",
                   UNSUPPORTED)
    command = shlex.join(["./tenter", "reproduce", *argv])
    code, said = GOOD, []
    for matrix, folder in _halves(row, args):
        one = GOOD if matrix is None else _measure(row, args, matrix, folder, command)
        if one == INTERRUPTED or not (folder / KEPT[row["mode"] == "model"]).exists():
            return one or INCOMPLETE
        code = WRONG if WRONG in (one, code) else one or code
        said.append(judge(row, folder, figures_of(row, args.quick), keep=args.source is None))
        if not args.json:
            _print(row, folder, said[-1])
    if args.json:
        print(json.dumps(said[0] if len(said) == 1 else {"schema": 1, "row": row["id"], "halves": said},
                         indent=1))
    if not any(half["usable"] for half in said):
        return INCOMPLETE
    failed = any(v["verdict"] == claims.FAILS for half in said for v in half["verdicts"])
    return WRONG if code == WRONG or (args.strict and failed) else GOOD


def _halves(row: dict[str, Any], args: argparse.Namespace) -> list[tuple[str | None, Path]]:
    """What is measured and what is simulated, each with its matrix (None: it is there already) and a
    folder of its own: where a row has both, the simulated one lies inside the other."""
    if args.source is not None:
        kept = KEPT[row["mode"] == "model"]
        found = [f for f in (args.source, args.source / "sim") if (f / kept).exists()]
        if not found:
            raise Stop(f"--from {args.source}: no {kept} there")
        return [(None, folder) for folder in found]
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    folder: Path = args.out or ROOT / "results" / f"{row['id']}-{stamp}"
    both = "matrix" in row and "sim" in row
    return [(row[key], folder / "sim" if both and key == "sim" else folder)
            for key in ("matrix", "sim", "model") if key in row]


def _measure(row: dict[str, Any], args: argparse.Namespace, matrix: str, folder: Path,
             command: str) -> int:
    if row["mode"] == "model":
        model.figure_of(matrix, folder)
        return GOOD
    from . import run                                   # needs a build; --list and --from do not
    folder.parent.mkdir(parents=True, exist_ok=True)
    outcome = run.run([matrix, "--out", str(folder), *(["--quick"] if args.quick else [])],
                      figures=figures_of(row, args.quick) if args.quick else None,
                      reproduces=run.Reproduced(row["id"], command))
    for status, number in outcome.counts.items():
        if status != "ok":
            print(f"note: {number} invocations {status}; see {folder / 'report.html'}",
                  file=sys.stderr)
    return outcome.code


def figures_of(row: dict[str, Any], quick: bool) -> list[str]:
    """The row's figures; its first, in the source's own axes, where it has to be quick."""
    names = list(row.get("figures") or [])
    return names[:1] if quick else names


# -- judging --------------------------------------------------------------------------------------

def judge(row: dict[str, Any], folder: Path, names: list[str], keep: bool) -> dict[str, Any]:
    """Draws the row's figures (with `keep` those that are not drawn yet), judges its claims, writes
    verdicts.json; returns its content."""
    computed = row["mode"] == "model"
    there = computed or (keep and (folder / "tidy.csv").exists())
    table = folder / "tidy.csv" if there else tidy.export(folder)
    frame, prov = tidy.load(folder), tidy.load_provenance(folder)
    programs = sorted(set(frame["program"].dropna().astype(str)))
    drawn = figures.draw_all(names, programs, table, keep)
    simulated = frame["runtime"].eq("simulate").any()
    judged_by, sizes = points.of_one_size(frame, row.get("insensitive"),
                                          row.get("sizes", 1))
    said = {
        "schema": 1, "row": row["id"], "source": row["source"], "results": str(folder),
        "mode": "model" if computed else "sim" if simulated else "native", "cores": prov.get("cores"), "machine": prov.get("machine"),
        "commit": prov.get("commit"), "scale": {} if computed else claims.scale(row, tidy.read_jsonl(folder / "rows.jsonl")),
        "insensitive": sizes,
        "usable": bool(len(tidy.usable(frame))),
        "thresholds": claims.module(row["id"]).THRESHOLDS,
        "figures": {d.name: str(folder / d.pdf) if d.pdf else f"not drawn: {d.problem}"
                    for d in drawn},
        "verdicts": [j.plain() for j in claims.judge(row["id"], judged_by)],
    }
    text = json.dumps(said, indent=1, ensure_ascii=False) + "\n"
    (folder / "verdicts.json").write_text(text, encoding="utf-8")
    return said


def table_of(frame: pd.DataFrame, axis: str, hist: pd.DataFrame | None = None) -> list[list[str]]:
    """The source's axes in words: one line a point and series, medians with their intervals.

    A percentile is the one that the figures draw: of the histograms (hist.csv) of all invocations
    of the point together."""
    good = tidy.usable(frame)
    good = good[good[axis].notna()]
    there = set(good["metric"])
    hist = pd.DataFrame(columns=tidy.HIST) if hist is None else hist
    timed = set(hist["metric"])
    columns = [(title, metric, PERCENTILE.fullmatch(metric)) for title, metric in COLUMNS]
    columns = [c for c in columns if (c[2][1] in timed if c[2] else c[1] in there)]
    lines = [[axis, "series", *(title for title, _metric, _percentile in columns)]]
    known = set(tidy.HEAD + tidy.TAIL)
    factors = [c for c in good.columns if c not in known and c not in (axis, *SAID)]
    apart = tidy.varying_factors(good, factors)
    points = [good[axis], _series(good, apart)]
    # what only some rows have: a rate, under open load
    apart += [f for f in factors if f not in apart and good[f].isna().groupby(points).nunique().gt(1).any()]
    for (x, series), part in good.groupby([axis, _series(good, apart)]):
        at = x if isinstance(x, str) else f"{x:g}"
        line = [f"{at}{'*' if part['oversubscribed'].any() else ''}", str(series)]
        for _title, metric, percentile in columns:
            own = part[part["metric"].eq(metric)]
            if percentile:
                mine = hist[hist["metric"].eq(percentile[1])
                            & hist["invocation"].isin(part["invocation"])]
                line.append(_cell(stats.pooled(mine, float(percentile[2].replace("_", "."))), "ns"))
                continue
            estimate = stats.median(stats.invocations(own, metric)["value"].to_numpy(dtype=float))
            line.append(_cell(estimate, str(own["unit"].iloc[0]) if len(own) else "1"))
        lines.append(line)
    given = [i for i, column in enumerate(zip(*lines)) if i < 2 or set(column[1:]) != {"–"}]
    return [[line[i] for i in given] for line in lines]


def _series(good: pd.DataFrame, apart: list[str]) -> pd.Series:
    """What each row is a point of: the series, and the other factors that vary."""
    text = good["series"].astype(str)
    for factor in apart:
        text = text + good[factor].map(lambda v, f=factor: "" if pd.isna(v) else f", {f} {v:g}"
                                       if isinstance(v, (int, float)) else f", {f} {v}")
    return text


def _cell(estimate: stats.Estimate, unit: str) -> str:
    if estimate.n == 0:
        return "–"
    text = figures.quantity(estimate.value, unit)
    if estimate.has_interval and estimate.low < estimate.high:
        low, high = (figures.quantity(v, unit) for v in (estimate.low, estimate.high))
        if low.split(" ")[-1] == high.split(" ")[-1]:
            low = low.rsplit(" ", 1)[0]
        text += f" [{low}, {high}]{FEW_MARK if estimate.n < stats.FEW else ''}"
    return text


def align(lines: list[list[str]]) -> list[str]:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in lines]


def _print(row: dict[str, Any], folder: Path, said: dict[str, Any]) -> None:
    frame = tidy.load(folder)
    print(f"{row['id']}, {row['source']}: {row['workload']}")
    quick = tidy.load_provenance(folder).get("quick")
    if quick:                                            # less than the row says
        print(quick)
    if said["mode"] == "sim":
        print(f"simulated, not measured: {said['machine']}, {said['cores']} cores "
              "(docs/simulating.md says where not to trust it)")
    for text in [*claims.scale_text(said["scale"]), *said["insensitive"]]:
        print(f"scale: {text}")
    print()
    if said["usable"]:
        table = "\n".join(align(table_of(frame, str(row.get("axis", "workers")),
                                         tidy.load_hist(folder))))
        print(table)
        print("median over invocations [95 % interval]; percentiles of all samples of a point, "
              "pooled over its invocations, as in the figures; – too few samples")
        if FEW_MARK in table:
            print(f"{FEW_MARK} {stats.FEW_FLAG}")
        if frame["oversubscribed"].any():
            print(f"* more workers than cores ({said['cores']}): shown, never judged by")
    print()
    for verdict in said["verdicts"]:
        print(f"{verdict['verdict']}: {verdict['claim']}  ({verdict['why']})")
    print()
    for name, path in said["figures"].items():
        print(f"figure   {path if path.endswith('.pdf') else f'{name}: {path}'}")
    print(f"verdicts {folder / 'verdicts.json'}")


def _list(as_json: bool) -> int:
    rows = claims.rows()
    if as_json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return GOOD
    lines = [["id", "source", "kind", "mode", "claims", "available", "what"]]
    lines += [[r["id"], r["source"], r["kind"], r["mode"], str(len(r["claims"])),
               "yes" if r["available"] else "no", r["workload"] +
               ("" if r["available"] else f" (needs {' and '.join(r['needs'])})")] for r in rows]
    print("\n".join(align(lines)))
    print(f"\nworks: {WORKS}")
    return GOOD
