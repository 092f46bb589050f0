# SPDX-License-Identifier: MIT
"""From the record of a run (rows.jsonl, env.jsonl) to tables: tidy.csv, hist.csv, provenance.json.

docs/results.md describes every column.  The record is the truth; the tables are an export of it
and can be deleted at any time.
"""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Iterable

import pandas as pd
import yaml

from . import sim_where
from .columns import HEAD, HIST, TAIL
from .errors import Stop
from .percentiles import PERCENTILES, percentile, percentile_name
from .store import of_host

USABLE = ("ok",)
#: a later row with one of these says nothing of the cell, so it does not replace an earlier one
VOID = ("interrupted", "skipped")
OWN_RUNTIMES = ("native", "explore", "simulate")


class TidyError(Stop):
    """The record cannot be read; the message names the file and the line."""


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """All objects of a JSON Lines file.  Only a torn last line (no newline) is forgiven."""
    raw = path.read_bytes()
    lines = raw.split(b"\n")
    torn = len(lines) - 1 if lines[-1].strip() else -1
    out: list[dict[str, Any]] = []
    for index, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, UnicodeDecodeError) as error:
            if index == torn:
                break
            raise TidyError(f"{path}:{index + 1}: not a JSON object: {error}") from error
        if not isinstance(item, dict):
            raise TidyError(f"{path}:{index + 1}: not a JSON object: {type(item).__name__}")
        out.append(item)
    return out


# -- export ---------------------------------------------------------------------------------------

def _cores(env: dict[str, Any]) -> int | None:
    """Processors that the run could use, under any of the names that describe them."""
    places = [env] + [v for v in env.values() if isinstance(v, dict)]
    for key in ("cpus_allowed", "cpus_usable", "usable_cpus", "affinity_cpus", "nproc", "cpus",
                "cores", "logical_cpus"):
        for place in places:
            value = place.get(key)
            if isinstance(value, list) and value:
                return len(value)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None


def _machine(env: dict[str, Any]) -> str | None:
    places = [env] + [v for v in env.values() if isinstance(v, dict)]
    for key in ("cpu_model", "model_name", "cpu_name", "model", "cpu"):
        for place in places:
            value = place.get(key)
            if isinstance(value, str) and value:
                return value
    return None


def _machines(rows: list[dict[str, Any]], sims: list[dict[str, Any]], env: dict[str, Any]) -> str | None:
    """Where rows of both kinds are, both: nobody may take the one for the other."""
    here = _machine(env)
    if not sims:
        return here
    said = ", ".join(sorted({s["machine"] for s in sims})) + " (simulated)"
    if all(r.get("sim") or (r.get("build") or {}).get("runtime") == "sim" for r in rows):
        return said
    return f"{here or 'machine unknown'} (measured), {said}"


def _commit(env: dict[str, Any]) -> tuple[str | None, bool]:
    places = [env] + [v for v in env.values() if isinstance(v, dict)]
    commit, dirty = None, False
    for place in places:
        value = place.get("commit")
        if isinstance(value, str) and commit is None:
            commit = value
        dirty = dirty or bool(place.get("dirty") or place.get("dirty_diff"))
    return commit, dirty


def program_of(row: dict[str, Any]) -> str:
    for place in (row, row.get("params") or {}, row.get("binary") or {}, row.get("build") or {}):
        for key in ("program", "workload"):
            if isinstance(place.get(key), str):
                return str(place[key])
    return "unknown"


def _varying_knobs(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """For each scheduler, the knobs with several values under one program: what a program itself adds
    to what it was given does not vary."""
    seen: dict[str, dict[str, dict[str, set[str]]]] = {}
    for row in rows:
        binary = row.get("binary") or {}
        for knob, value in (binary.get("knobs") or {}).items():
            of_knob = seen.setdefault(str(binary.get("scheduler")), {}).setdefault(knob, {})
            of_knob.setdefault(program_of(row), set()).add(json.dumps(value))
    return {s: sorted(k for k, of in knobs.items() if any(len(v) > 1 for v in of.values()))
            for s, knobs in seen.items()}


def series_of(row: dict[str, Any], varying: dict[str, list[str]]) -> str:
    """What a figure calls this row: a peer's name, or the scheduler that the *binary* named."""
    binary = row.get("binary") or {}
    runtime, scheduler = binary.get("runtime"), binary.get("scheduler")
    how = " (simulated)" if runtime == "simulate" else ""
    if isinstance(runtime, str) and runtime not in OWN_RUNTIMES:
        return runtime
    _name, dash, peer = program_of(row).partition("-")
    if dash and not isinstance(scheduler, str):
        return peer
    if not isinstance(scheduler, str):
        asked = (row.get("params") or {}).get("scheduler")
        return f"{asked} (asked for)" if isinstance(asked, str) else program_of(row) + how
    knobs = binary.get("knobs") or {}
    name = ":".join([scheduler] + [f"{k}={knobs[k]}" for k in varying.get(scheduler, [])
                                   if k in knobs])
    pinned = ":pinned" if (row.get("params") or {}).get("pin") is True else ""  # a factor: both ways are there
    return name + pinned + how


def _superseded(rows: list[dict[str, Any]]) -> list[bool]:
    """A later row of a condition and block replaces an earlier one, from a rebuilt binary too."""
    keys = [json.dumps([program_of(row), settings(row), row.get("build"), row.get("block")],
                       sort_keys=True, default=str) for row in rows]
    last: dict[str, int] = {}
    for index, row in enumerate(rows):
        if row.get("status") in VOID and keys[index] in last:
            continue
        last[keys[index]] = index
    return [last[key] != index for index, key in enumerate(keys)]


def _scalar(value: Any) -> Any:
    return json.dumps(value, sort_keys=True) if isinstance(value, (dict, list)) else value


def factor_names(rows: list[dict[str, Any]]) -> list[str]:
    names: set[str] = set()
    for row in rows:
        names.update(settings(row))
    return sorted(names)


def settings(row: dict[str, Any]) -> dict[str, Any]:
    """What tells one condition from another: the factors, the options given besides, and the
    choices of the build, as the binary names them (`stacks`, `context`)."""
    binary = row.get("binary") or {}
    said = {k: binary[k] for k in row.get("build") or {} if isinstance(binary.get(k), str)
            and k not in ("compiler", "scheduler")}
    return {**said, **(row.get("options") or {}), **(row.get("params") or {})}


def _column(factor: str) -> str:
    """A factor whose name is already a column of its own is written with a prefix."""
    return f"param_{factor}" if factor in HEAD + TAIL + HIST else factor


def provenance(results_dir: Path, rows: list[dict[str, Any]],
               envs: list[dict[str, Any]]) -> dict[str, Any]:
    """What the footer of every figure says; unknown is null."""
    env = envs[-1] if envs else {}
    commit, dirty = _commit(env)
    matrix = matrix_of(results_dir)
    dates = sorted(str(when)[:10] for when in (of_host(r, "started") for r in rows) if when)
    own = [r["binary"] for r in rows if (r.get("binary") or {}).get("runtime") in OWN_RUNTIMES]
    versions = {str(b.get("version")) for b in own}
    sims = [r["sim"] for r in rows if r.get("sim")]
    return {"matrix": matrix.get("name") or matrix.get("matrix"), "commit": commit, "dirty": dirty,
            "machine": _machines(rows, sims, env),
            "quick": quick_text(results_dir, matrix),
            "cores": max((s["cores"] for s in sims), default=_cores(env)), "date": dates[0] if dates else None,
            "version": ", ".join(sorted(versions)) or None,
            "factors": [_column(f) for f in factor_names(rows)]}


def run_of(results_dir: Path) -> dict[str, Any]:
    """What the runner recorded of the run; nothing where it did not make the folder."""
    path = results_dir / "run.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise TidyError(f"{path}: not JSON: {error}") from error
    return data if isinstance(data, dict) else {}


def quick_text(results_dir: Path, matrix: dict[str, Any]) -> str | None:
    """`quick: 5000 packets`: what a quick run has less of than its matrix says."""
    if not run_of(results_dir).get("quick"):
        return None
    sizes = (matrix.get("quick") or {}).get("options") or {}
    return "quick: " + (", ".join(f"{value} {name}" if isinstance(value, int) else f"{name} {value}"
                                  for name, value in sizes.items())
                        or "fewer blocks and repetitions")


def matrix_of(results_dir: Path) -> dict[str, Any]:
    path = results_dir / "matrix.yaml"
    if not path.exists():
        return {}
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise TidyError(f"{path}: {error}") from error
    return data if isinstance(data, dict) else {}


def _rows_of(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The samples of one invocation, then its percentiles, then its counters."""
    out: list[dict[str, Any]] = []
    for sample in row.get("samples") or []:
        out.append({"rep": sample.get("rep", 0), "warmup": bool(sample.get("warmup", False)),
                    "metric": sample["metric"], "unit": sample.get("unit", "1"),
                    "value": sample["value"]})
    for metric, hist in sorted((row.get("hist") or {}).items()):
        unit = str(hist.get("unit", "1"))
        for percent in PERCENTILES:
            value = percentile(hist["buckets"], percent)
            if value is not None:
                out.append({"rep": "pooled", "warmup": False, "unit": unit, "value": value,
                            "metric": percentile_name(metric, percent, unit)})
    for name, value in sorted((row.get("counters") or {}).items()):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            out.append({"rep": "total", "warmup": False, "unit": "1", "value": value,
                        "metric": f"counter_{name}"})
    return out + [{"rep": "total", "warmup": False, **m} for m in sim_where.metrics(row.get("sim"))]


def _write(frame: pd.DataFrame, path: Path) -> None:
    scratch = path.with_name(path.name + ".new")
    frame.to_csv(scratch, index=False)
    os.replace(scratch, path)


def export(results_dir: Path) -> Path:
    """Write tidy.csv, hist.csv and provenance.json beside the record; return tidy.csv.

    hist.csv has one row a bucket and names the invocation: all else stands in tidy.csv."""
    rows = read_jsonl(results_dir / "rows.jsonl")
    env_path = results_dir / "env.jsonl"
    envs = read_jsonl(env_path) if env_path.exists() else []
    by_id = {e.get("env_id", e.get("id")): e for e in envs}
    varying, gone, factors = _varying_knobs(rows), _superseded(rows), factor_names(rows)
    tidy: list[dict[str, Any]] = []
    hists: list[tuple[Any, ...]] = []
    for index, row in enumerate(rows):
        binary, params = row.get("binary") or {}, settings(row)
        env = by_id.get(row.get("env_id"), envs[-1] if envs else {})
        runtime = str(binary.get("runtime") or "native")
        cores, workers = (row.get("sim") or {}).get("cores") or _cores(env), params.get("workers")
        if workers is None and isinstance(row.get("program_params"), dict):
            workers = row["program_params"].get("workers")
        over = (runtime != "simulate" and cores is not None
                and isinstance(workers, (int, float)) and workers > cores)
        base = {"cell": row.get("cell"), "block": row.get("block"), "order": row.get("order"),
                "invocation": index, "status": row.get("status"), "superseded": gone[index],
                "program": program_of(row), "series": series_of(row, varying),
                "scheduler_said": binary.get("scheduler"), "runtime": runtime,
                "differs": _scalar(binary.get("differs")), "binary_id": binary.get("id"),
                "cores": cores, "oversubscribed": over}
        base.update({_column(f): _scalar(params.get(f)) for f in factors})
        samples = _rows_of(row)
        # a row without samples stays visible, with an empty metric and an empty value
        tidy += [{**base, **s} for s in samples or [{"rep": None, "warmup": False, "metric": None,
                                                     "unit": None, "value": None}]]
        for metric, hist in sorted((row.get("hist") or {}).items()):
            hists += [(index, metric, hist.get("unit", "1"), *b) for b in hist["buckets"]]
    columns = HEAD + [_column(f) for f in factors] + TAIL
    _write(pd.DataFrame(tidy, columns=columns), results_dir / "tidy.csv")
    _write(pd.DataFrame(hists, columns=HIST), results_dir / "hist.csv")
    text = json.dumps(provenance(results_dir, rows, envs), indent=1) + "\n"
    (results_dir / "provenance.json").write_text(text, encoding="utf-8")
    return results_dir / "tidy.csv"


# -- reading back ---------------------------------------------------------------------------------

def _read(path: Path) -> pd.DataFrame:
    try:
        frame = pd.read_csv(path, dtype={"rep": str, "series": str, "metric": str, "unit": str,
                                         "status": str, "cell": str, "binary_id": str},
                            low_memory=False)
    except pd.errors.EmptyDataError as error:
        raise TidyError(f"{path}: empty file, not even a header") from error
    for column in ("warmup", "superseded", "oversubscribed"):
        if column in frame:
            text = frame[column].astype(str).str.lower()
            frame[column] = text.isin(["true", "1", "1.0"])
        else:
            frame[column] = False
    missing = [c for c in ("status", "metric") if c not in frame]
    if missing:
        raise TidyError(f"{path}: no column {', '.join(missing)}")
    return frame


def table_path(path: Path, name: str = "tidy.csv") -> Path:
    """The table `name` for a results folder or for a table that lies in one."""
    return path / name if path.is_dir() else path.with_name(name) if name != "tidy.csv" else path


def load(results_dir: Path) -> pd.DataFrame:
    """tidy.csv of a results folder (exported first where it is missing or older than the record),
    or the CSV itself when the path is one."""
    if results_dir.is_dir():
        record, table = results_dir / "rows.jsonl", results_dir / "tidy.csv"
        if record.exists() and (not table.exists()
                                or table.stat().st_mtime < record.stat().st_mtime):
            export(results_dir)
    path = table_path(results_dir)
    if not path.exists():
        raise TidyError(f"{path}: no such file")
    return _read(path)


def load_hist(path: Path) -> pd.DataFrame:
    """hist.csv beside a tidy.csv; an empty frame where there is none."""
    table = table_path(path, "hist.csv")
    return pd.read_csv(table) if table.exists() else pd.DataFrame(columns=HIST)


def load_provenance(path: Path) -> dict[str, Any]:
    table = table_path(path, "provenance.json")
    if not table.exists():
        return {}
    data = json.loads(table.read_text(encoding="utf-8"))
    return data if isinstance(data, dict) else {}


def usable(frame: pd.DataFrame) -> pd.DataFrame:
    """What figures and statistics may use: good, current, not warm-up."""
    keep = frame["status"].isin(USABLE) & ~frame["warmup"] & ~frame["superseded"]
    return frame[keep & frame["metric"].notna()]


def varying_factors(frame: pd.DataFrame, factors: Iterable[str],
                    apart_from: Iterable[str] = ()) -> list[str]:
    """Factors with more than one value here, which therefore tell conditions apart."""
    skip = set(apart_from)
    return [f for f in factors if f in frame and f not in skip
            and frame[f].nunique(dropna=True) > 1]
