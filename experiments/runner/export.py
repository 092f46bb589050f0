# SPDX-License-Identifier: MIT
"""What is made of a results folder when its run has ended: tables, figures, report."""
from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any, Sequence

from .errors import Stop
from .store import Results, read_lines

_TO_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def part(name: str) -> Any:
    """A module of this package that is loaded late: it needs the packages for plots."""
    try:
        return importlib.import_module(f"{__package__}.{name}")
    except ModuleNotFoundError as error:
        raise Stop(f"'{error.name}' is missing, so there are no figures and no report: "
                   "./tenter doctor") from error


def gbench(folder: Path) -> dict[str, Any]:
    """The subset of Google Benchmark's JSON that its comparison tools read.

    Times become real_time in ns; a rate becomes items_per_second and its inverse.
    """
    rows, _ = read_lines(folder / "rows.jsonl")
    envs = read_lines(folder / "env.jsonl")[0] if (folder / "env.jsonl").exists() else []
    env = envs[-1] if envs else {}
    out = []
    for row in rows:
        if row["status"] != "ok":
            continue
        counted = [s for s in row["samples"] if not s.get("warmup")]
        for sample in counted:
            unit, value = sample["unit"], float(sample["value"])
            rate = unit.endswith("/s")              # "1/s", "packets/s"
            if unit in _TO_NS:
                time = value * _TO_NS[unit]
            elif rate and value > 0:
                time = 1e9 / value
            else:
                continue
            name = "/".join([row["program"], sample["metric"],
                             *(f"{k}:{v}" for k, v in row["params"].items())])
            entry = {"name": name, "run_name": name, "run_type": "iteration",
                     "repetitions": len(counted), "repetition_index": sample.get("rep", 0),
                     "threads": 1, "iterations": 1, "real_time": time, "cpu_time": time,
                     "time_unit": "ns"}
            if rate:
                entry["items_per_second"] = value
            out.append(entry)
    return {"context": {"date": env.get("captured"), "host_name": env.get("host"),
                        "executable": "tenter", "num_cpus": env.get("cpus_online"),
                        "mhz_per_cpu": 0, "cpu_scaling_enabled": False, "caches": [],
                        "load_avg": [], "library_build_type": "release"},
            "benchmarks": out}


def finish(results: Results, command: str, only: Sequence[str] | None = None) -> dict[str, str]:
    """Writes gbench.json, tidy.csv, the figures (`only` these, if given) and the report; returns
    the paths."""
    results.write("gbench.json", json.dumps(gbench(results.folder), indent=1) + "\n")
    paths = {"gbench": str(results.folder / "gbench.json")}
    paths["report"] = str(part("report").make(results.folder, command, only))   # and tidy.csv
    return {**paths, "tidy": str(results.folder / "tidy.csv")}
