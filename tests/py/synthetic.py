# SPDX-License-Identifier: MIT
"""Made-up records of runs, in the form of docs/results.md, for the tests of tables and figures."""
from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any, Callable

ENV = {"env_id": "e1", "cpu_model": "Test CPU 9000", "cpus_allowed": 2, "commit": "0123456789ab",
       "dirty": False, "kernel": "6.1.0"}


def hdr_bucket(value: float) -> tuple[int, int]:
    """The bucket of a value in an HDR layout of three significant figures."""
    whole = max(0, int(value))
    step = 1 << max(0, whole.bit_length() - 11)
    low = whole // step * step
    return low, low + step - 1


def histogram(rng: random.Random, middle: float, n: int) -> dict[str, Any]:
    counts: dict[tuple[int, int], int] = {}
    for _ in range(min(n, 3000)):
        key = hdr_bucket(rng.lognormvariate(math.log(middle), 0.9))
        counts[key] = counts.get(key, 0) + max(1, n // 3000)
    return {"unit": "ns", "buckets": [[a, b, c] for (a, b), c in sorted(counts.items())]}


def row(scheduler: str | None, workers: int, block: int, order: int, *, throughput: float,
        latency: float = 20_000.0, retries: float = 100.0, reps: int = 3, n: int = 200_000,
        program: str = "packet", noise: float = 0.02, status: str = "ok",
        message: str | None = None, hist: bool = True, cell: str | None = None) -> dict[str, Any]:
    """One line of rows.jsonl of the packet workload."""
    rng = random.Random(f"{scheduler} {program} {workers} {block}")
    samples = []
    for rep in range(reps + 1):
        value = throughput * (1 + rng.gauss(0, noise)) * (0.5 if rep == 0 else 1.0)
        for metric, unit, number in (("throughput", "1/s", value), ("time", "s", 50_000 / value),
                                     ("retries", "1", float(int(
                                         retries * (1 + abs(rng.gauss(0, noise))))))):
            samples.append({"metric": metric, "unit": unit, "value": number, "rep": rep - 1,
                            "warmup": rep == 0})
    good = status == "ok"
    return {"schema": 1, "cell": cell or f"{program}-{scheduler}-{workers}", "block": block,
            "order": order, "status": status, "message": message,
            "params": {"workers": workers, "scheduler": scheduler, "program": program},
            "build": {"compiler": "gcc"}, "program": program,
            "binary": {"version": "0.1.0", "scheduler": scheduler,
                       "runtime": program.partition("-")[2] or "native",
                       "knobs": {"layout": "local"}, "id": "b1"},
            "env_id": "e1", "seed": 1, "load_kind": "closed", "clock": "spawn to last end",
            "samples": samples if good else [], "counters": {"steal_hit": 10 * workers},
            "hist": {"latency": histogram(rng, latency, n)} if good and hist else {},
            "rusage": {"user_s": 1.0}, "load": [0.1, 0.1, 0.1], "steal_pct": 0.0,
            "output_path": f"out/{order}.txt", "started": "2026-01-02T03:04:05Z", "wall_s": 0.5}


def run(workers: list[int], throughput: Callable[[str, int], float],
        latency: Callable[[str, int], float] = lambda s, w: 20_000.0,
        retries: Callable[[str, int], float] = lambda s, w: 100.0,
        schedulers: tuple[str, ...] = ("fifo", "lifo"), blocks: int = 6,
        **more: Any) -> list[dict[str, Any]]:
    """Rows of a whole matrix: every cell once a block."""
    rows: list[dict[str, Any]] = []
    for block in range(blocks):
        for count in workers:
            for name in schedulers:
                peer = name == "pthread"
                rows.append(row(name, count, block, len(rows),
                                throughput=throughput(name, count), latency=latency(name, count),
                                retries=retries(name, count),
                                program="packet-pthread" if peer else "packet", **more))
    return rows


#: one value for each of ours, Boost.Fiber, Go, pthreads; the last ones are only ours
MICRO = {"yield_2": (9.0, 52.0, 65.0, 2100.0), "yield_1000": (11.0, 30.0, 64.0, math.nan),
         "spawn_join": (38.0, 330.0, 350.0, 36_000.0), "spawn_batch": (35.0, 200.0, 160.0, 41e3),
         "ping_pong": (88.0, 410.0, 250.0, 5160.0), "fork_join_tree": (58.0, 3130.0, 909.0, 155e3),
         "phys_rmw": (7.4, math.nan, math.nan, math.nan),
         "phys_syscall": (1060.0, math.nan, math.nan, math.nan)}


def micro(blocks: int = 5) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for block in range(blocks):
        for index, program in enumerate(("micro", "micro-boost", "micro-go", "micro-pthread")):
            rng = random.Random(f"{program} {block}")
            item = row("fifo" if index == 0 else None, 1, block, len(rows), throughput=1.0,
                       program=program, hist=False)
            item["samples"] = [
                {"metric": metric, "unit": "ns", "value": values[index] * (1 + rng.gauss(0, 0.03)),
                 "rep": rep, "warmup": rep == 0}
                for metric, values in MICRO.items() if math.isfinite(values[index])
                for rep in range(3)]
            rows.append(item)
    return rows


def write(folder: Path, rows: list[dict[str, Any]], env: dict[str, Any] | None = None,
          matrix: str = "name: synthetic\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(item) + "\n" for item in rows)
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    (folder / "env.jsonl").write_text(json.dumps(env or ENV) + "\n", encoding="utf-8")
    (folder / "matrix.yaml").write_text(matrix, encoding="utf-8")
    return folder
