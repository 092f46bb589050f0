#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmark programs, run for a moment: what each option changes in their record.

    workloads.py YIELD ARRIVALS PACKET PACKET_PTHREAD QUEUES AFFINITY CROWD LOCKS REQUESTS STAGES RANKS [LOCKS_PEER...]
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ENV = {k: v for k, v in os.environ.items() if not k.startswith("TENTER_")}
faults: list[str] = []


def run(program: str, *words: str, code: int = 0, env: dict[str, str] | None = None) -> dict[str, Any]:
    command = [program, "--json", "--hist", "--warmup", "0", "--reps", "1", *words]
    done = subprocess.run(command, env={**ENV, **(env or {})}, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != code:
        faults.append(f"{' '.join(command)}: exit {done.returncode}, not {code}: {done.stderr.strip()}")
        return {}
    if code != 0:
        if len(done.stderr.strip().splitlines()) != 1:
            faults.append(f"{' '.join(command)}: not one line: {done.stderr}")
        return {}
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def turns(program: str, *words: str) -> dict[str, Any]:
    """For longer where none ended in time: a busy machine has let nobody take any."""
    for seconds in ("0.02", "0.3", "3"):
        before = len(faults)
        said = run(program, *words, "--duration", seconds)
        if said:
            break
        if seconds != "3":
            del faults[before:]
    return said


def wanted(what: str, good: bool) -> None:
    if not good:
        faults.append(what)


def values(said: dict[str, Any], metric: str) -> list[float]:
    return [s["value"] for s in said.get("samples", []) if s["metric"] == metric]


def requests(program: str) -> None:
    """Each server answers all that it is asked, however the requests come."""
    for connections, depth in ((1, 1), (3, 64), (200, 2)):
        said = run(program, "--connections", str(connections), "--depth", str(depth), "--requests", "2000")
        what = f"requests: {connections} connections, {depth} under way"
        wanted(f"{what}: all are answered", said.get("status") == "ok")
        wanted(f"{what}: both servers are measured", len(values(said, "cpu")) == len(values(said, "cpu_loop")) == 1)
        wanted(f"{what}: a fibre a connection", said.get("counters", {}).get("spawn", connections) >= connections)
    run(program, "--depth", "65", code=2)


def ways_to_yield(program: str) -> None:
    stuck_from = {"top": 1, "pop": 2, "swap": None, "tail": None, "global": None, "soft": None}
    for way, least in stuck_from.items():
        for blocked in (1, 2, 16):
            said = run(program, "--scheduler", f"yields:yield={way}", "--workers", "1", "--tasks", "8",
                       "--blocked", str(blocked), "--bound", "2000", "--turns", "1000")
            stuck = float(least is not None and blocked >= least)
            wanted(f"yield={way} blocked {blocked}: livelock {stuck:g}", values(said, "livelock") == [stuck])
            wanted(f"yield={way} blocked {blocked}: a throughput only without livelock",
                   bool(values(said, "throughput")) != bool(stuck))
            wanted(f"yield={way}: cost of a yield", len(values(said, "yield")) == 1)
            wanted(f"yield={way}: its own name", said.get("binary", {}).get("knobs", {}).get("yield") == way)
    for hard, some in (("0", False), ("4", True)):
        said = run(program, "--scheduler", "yields:yield=soft", "--workers", "1", "--blocked", "3", "--hard", hard,
                   "--turns", "30")
        if said.get("binary", {}).get("observe") == "counters":
            wanted(f"--hard {hard}: yields to the cluster's queue",
                   (said["counters"]["yield_global"] >= 3) == some)
    said = run(program, "--scheduler", "yields", "--workers", "1", "--work", "1000", "--turns", "0")
    wanted("--turns 0: no cost", not values(said, "yield"))
    run(program, "--hogs", "1", "--workers", "1", code=2)
    run(program, "--hogs", "1", "--workers", "3", "--blocked", "1", code=2)
    if len(os.sched_getaffinity(0)) >= 2:
        for way, stuck in (("tail", 1.0), ("global", 0.0)):
            said = run(program, "--scheduler", f"yields:yield={way}", "--workers", "2", "--hogs", "1", "--blocked", "2",
                       "--tasks", "2")
            wanted(f"yield={way} beside a hog: livelock {stuck:g}", values(said, "livelock") == [stuck])


def idle_workers(program: str) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        run(program, code=77)
        return
    for mode in ("block", "spin", "spin-block"):
        said = run(program, "--idle", mode, "--spin-us", "5", "--rate", "2000", "--duration", "0.02", "--rest", "0.01")
        wanted(f"arrivals --idle {mode}: what the runtime says", said.get("binary", {}).get("idle") == mode)
        wanted(f"arrivals --idle {mode}: spin_us", said.get("binary", {}).get("spin_us") == 5)
        for metric in ("latency_median", "cpu", "idle_share"):
            wanted(f"arrivals --idle {mode}: {metric}", len(values(said, metric)) == 1)
        counted = sum(n for _low, _high, n in said["hist"]["latency"]["buckets"]) if said else 0
        wanted(f"arrivals --idle {mode}: 40 arrivals, not {counted}", counted == 40)
        if said.get("binary", {}).get("observe") == "counters" and mode == "spin":
            wanted("arrivals --idle spin: nobody parks", said["counters"]["park"] == 0)


def affinities(program: str) -> None:
    for place in ("waker", "home", "owner", "owner:sticky=1"):
        said = run(program, "--workers", "2", "--scheduler", f"fifo:place={place}", "--pairs", "4", "--turns", "50")
        for metric, low, high in (("throughput", 1, 1e12), ("at_home", 0, 1), ("moves", 0, 1), ("imbalance", 1, 2)):
            found = values(said, metric)
            wanted(f"affinity place={place}: {metric} {found}", len(found) == 1 and low <= found[0] <= high)
    said = run(program, "--workers", "2", "--scheduler", "staged:full=refuse:capacity=1:batch=64", "--pairs", "40", "--turns", "50")
    wanted("affinity: all pairs are there, though the module refuses", said.get("status") == "ok")
    said = run(program, "--workers", "1", "--pairs", "2", "--turns", "10")
    wanted("affinity, one worker: all turns are at home", values(said, "at_home") == [1.0])


def clocks(program: str) -> None:
    for clock in ("vdso", "syscall", "tsc", "none"):
        said = run(program, "--packets", "500", "--clock", clock)
        there = bool(said["hist"]["latency"]["buckets"]) if said else False
        wanted(f"{program} --clock {clock}: latencies", there == (clock != "none"))
        wanted(f"{program} --clock {clock}: throughput", values(said, "throughput") > [0])
        wanted(f"{program} --clock {clock}: cost", said.get("counters", {}).get("clock_read_ns", -1) >= 0)
        if there:
            most = said["hist"]["latency"]["buckets"][-1][0]
            wanted(f"{program} --clock {clock}: a latency of {most} ns in ns", most < 60e9)


def counters(program: str) -> None:
    said = run(program, "--packets", "500", "--counters", "none")
    wanted("--counters none: none", "sw_page_faults" not in said.get("counters", {}))
    for source, names in (("perf", ("hw_cycles", "hw_stalled_backend")), ("likwid", ())):
        said = run(program, "--packets", "500", "--counters", source, "--likwid-group", "CLOCK")
        found, missing = said.get("counters", {}), said.get("unavailable", {})
        wanted(f"--counters {source}: a task clock", found.get("sw_task_clock_ns", 0) > 0)
        for name in names:
            wanted(f"{name}: a number, or null with a reason",
                   name in found and (found[name] is None) == bool(missing.get(name)) and found[name] != 0)
        wanted(f"--counters {source}: each null has its reason",
               {n for n, v in found.items() if v is None} == set(missing))


def for_people(program: str) -> None:
    """The table has units that one reads, and no JSON."""
    done = subprocess.run([program, "--packets", "2000", "--warmup", "0", "--reps", "1"], env=ENV,
                          capture_output=True, text=True, timeout=120, check=False)
    wanted(f"{program}: a latency with its unit", bool(re.search(r" p50 [0-9.]+ (ns|µs|ms|s)\b", done.stdout)))
    wanted(f"{program}: a rate with its unit", bool(re.search(r"throughput +[0-9.]+ [kM]?/s", done.stdout)))
    wanted(f"{program}: no JSON", "{" not in done.stdout)
    text = subprocess.run([program, "--help"], env=ENV, capture_output=True, text=True, timeout=60, check=False)
    wanted("--help: the greatest seed in full", "0 to 9007199254740991;" in text.stdout)


def full_disk(programs: list[str]) -> None:
    """What cannot be written is one line, and no success; a version, say, that was half written would be taken for another."""
    for program in programs:
        for option in ("--help", "--list", "--print-config"):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([program, option], env=ENV, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120,
                                      check=False)
            line = r"[\w-]+: .*No space left on device|[\w-]+: write /dev/stdout: no space.*"
            wanted(f"{program} {option} >/dev/full: {done.returncode} {done.stderr!r}",
                   done.returncode == 99 and re.fullmatch(f"(?:{line})\n", done.stderr) is not None)


def variables(program: str) -> None:
    """An option that is not given is what the variable says; nonsense is told, whatever counts."""
    env = {"TENTER_WORKERS": "1", "TENTER_PIN": "1", "TENTER_SEED": "77"}
    for words, workers, seed in (((), 1, 77), (("--workers", "2", "--seed", "5"), 2, 5)):
        said = run(program, "--packets", "500", *words, env=env)
        got = said.get("params", {})
        wanted(f"packet {words} with variables: {got} {said.get('seed')}",
               (got.get("workers"), got.get("pin"), said.get("seed")) == (workers, True, seed))
    for name, option in (("TENTER_WORKERS", "--workers=1"), ("TENTER_PIN", "--pin"), ("TENTER_SEED", "--seed=1")):
        for value in ("many", "-1", "", "99999999999999999999"):
            run(program, code=2, env={name: value})
            done = subprocess.run([program, option], env={**ENV, name: value}, capture_output=True, text=True, timeout=120, check=False)
            wanted(f"{option} {name}={value}: {done.returncode} {done.stderr}", done.returncode == 2 and f"{name}={value}" in done.stderr)


def versioned(program: str, said: dict[str, Any]) -> None:
    """Also who has no runtime of fibres is of this version of the project: the footer of figures says it."""
    version = (Path(__file__).parents[2] / "VERSION").read_text(encoding="utf-8").strip()
    wanted(f"{program}: its version", said.get("binary", {}).get("version") == version)


def queues(program: str) -> None:
    names = [f"{kind}_{how}" for how in ("own", "pass") for kind in ("ring", "fifo", "lifo", "locked")]
    said = run(program, "--ms", "1", "--workers", "2")
    for name in names:
        got = values(said, name)
        wanted(f"queues: one time of {name}: {got}", len(got) == 1 and got[0] > 0)
    versioned(program, said)
    said = run(program, "--ms", "1", "--case", "lifo_own")
    wanted("queues --case: that one alone", {s["metric"] for s in said.get("samples", [])} == {"lifo_own"})
    run(program, "--case", "lifo", code=2)


def crowd(program: str) -> None:
    both = ("mpmc-ring", "mpmc-cas", "mpmc-fad", "locked", "locked-lifo", "two-lock", "treiber", "multiqueue", "sharded")
    cells = [(s, "2", p) for s in both for p in ("0", "1")]
    cells += [(s, "3", "2") for s in ("mpsc-stub", "mpsc-node", "nemesis")] + [(s, "3", "1") for s in ("spmc-fifo", "spmc-lifo", "spmc-deque", "chase-lev")]
    for structure, workers, producers in cells:
        said = run(program, "--structure", structure, "--workers", workers, "--producers", producers, "--items", "2000",
                   "--items-each", "4", "--capacity", "8")
        versioned(program, said)
        got = values(said, "throughput")
        wanted(f"crowd: one rate of {structure}: {got}", len(got) == 1 and got[0] > 0)
        wanted("crowd: a queue without bounds refuses nothing", values(said, "refused") == [0] or structure[:4] in ("mpmc", "spmc", "chas"))
    for wrong in (("--capacity", "5"), ("--workers", "2", "--producers", "2"), ("--workers", "257"),
                  ("--structure", "mpsc-stub", "--workers", "2"), ("--structure", "chase-lev", "--workers", "2")):
        run(program, *wrong, code=2)


def stages(program: str) -> None:
    """What it is asked for is what it does: no rate so high that it becomes none, no cost that is negative or runs over."""
    short = ("--ms", "2", "--settle", "0", "--unit", "1000")
    for cost, good in (("1:2", True), ("0:0", True), ("999999:1", True), ("60000001:1", False), ("1:-1", False),
                       ("1: 1", False), ("1:+1", False), ("1:", False), ("", False), ("9999999999:1", False),
                       ("18446744073709551617:1", False), ("1:1:1:1:1:1:1:1:1:1", False)):
        said = run(program, *short, "--inflight", "1", "--cost", cost, code=0 if good else 2)
        wanted(f"stages --cost {cost}: a throughput", not good or len(values(said, "throughput")) == 1)
    said = run(program, *short, "--cost", "1:1", "--inflight", "60", "--workers", "1", "--scheduler", "staged:full=refuse:capacity=1:control=0")
    wanted("stages: all are there that go round, though the module refuses", said.get("counters", {}).get("spawn", 60) >= 60)
    said = run(program, *short, "--cost", "1:1", "--rate", "10000000")
    wanted("stages --rate: items come when they are due", len(values(said, "shed")) == 1)
    for rate in ("10000001", "1e9", "1.1e9", "1e12"):
        run(program, *short, "--rate", rate, code=2)


def ranks(program: str) -> None:
    """Where a backlog cannot be had, `queued` says how much there was; tasks that wait for it once took the spawner's worker."""
    for spec, whole in (("fifo", True), ("fifo:spawn=child", False), ("lifo:layout=global:spawn=child", False),
                        ("fifo:full=refuse:capacity=4:private=0", False), ("staged:full=refuse:capacity=2", False)):
        for workers in ("1", "2"):
            said = run(program, "--scheduler", spec, "--workers", workers, "--tasks", "1000", "--backlog", "400", "--work", "0")
            queued = values(said, "queued")
            wanted(f"ranks under {spec}, {workers} workers: {queued} queued", len(queued) == 1 and (queued[0] >= 396) == whole)


def locks(program: str) -> None:
    cells = [("fibre", design) for design in ("default", "spin", "spin-block", "block", "fair", "baton")]
    for by, design in [*cells, ("thread", "block"), ("thread", "pthread")]:
        said = turns(program, "--by", by, "--design", design, "--fibres", "4", "--locks", "2", "--critical", "200", "--other",
                     "200")
        rate, fair = values(said, "throughput"), values(said, "fairness")
        wanted(f"locks --by {by} --design {design}: {rate}, {fair}",
               len(rate) == len(fair) == 1 and rate[0] > 0 and 0 <= fair[0] <= 1)
        told(program, said)
    run(program, "--design", "pthread", code=2)
    run(program, "--design", "ticket", code=2)
    said = turns(program, "--critical", "300", "--cpu-by", "process")
    wanted("locks: --other is as --critical", said.get("params", {}).get("other") == 300)
    by_group(program)


def by_group(program: str) -> None:
    """The processor time of this very control group, in which more may be than the program; or one line that there is none."""
    groups = Path("/sys/fs/cgroup")
    if (groups / "cpu.stat").exists() or any(groups.glob("*/cpuacct.usage")):
        told(program, turns(program, "--critical", "200", "--cpu-by", "cgroup"))
    else:
        run(program, "--cpu-by", "cgroup", code=77)


def told(program: str, said: dict[str, Any]) -> None:
    """Processor time of a turn is that of its work, and not next to nothing: processors go faster and slower."""
    cpu = values(said, "cpu")
    wanted(f"{program}: processor time of a turn of 400 ns {cpu}", len(cpu) == 1 and cpu[0] > 100)


def lock_peers(programs: list[str]) -> None:
    for program in programs:
        said = turns(program, "--workers", "2", "--fibres", "4", "--locks", "2", "--critical", "200")
        rate, fair = values(said, "throughput"), values(said, "fairness")
        wanted(f"{program}: {rate}, {fair}", len(rate) == len(fair) == 1 and rate[0] > 0 and 0 <= fair[0] <= 1)
        told(program, said)
        run(program, "--locks", "0", code=2)


def main() -> int:
    yielding, arriving, packet, pthread, queue, affinity, threads, locking, serving, pipeline, ranking = sys.argv[1:12]
    full_disk(sys.argv[1:])
    variables(packet)
    crowd(threads)
    locks(locking)
    stages(pipeline)
    ranks(ranking)
    lock_peers(sys.argv[12:])
    requests(serving)
    ways_to_yield(yielding)
    idle_workers(arriving)
    queues(queue)
    affinities(affinity)
    for program in (packet, pthread):
        clocks(program)
        counters(program)
        for_people(program)
    print("\n".join(faults) or "workloads: ok")
    return 1 if faults else 0


sys.exit(main())
