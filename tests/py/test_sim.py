# SPDX-License-Identifier: MIT
"""The verb `sim`: real builds, runs with fifo and lifo, determinism, what is refused."""
from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from fake_tree import ROOT

from experiments.runner import sim, sim_where
from experiments.runner.build import MesonBuilder, Variant
from experiments.runner.errors import Stop

SMALL = ["packet", "--packets", "200", "--warmup", "0", "--reps", "1"]


def tenter(*argv: str, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "experiments.runner", "sim", *argv], cwd=ROOT, text=True,
                          capture_output=True, check=False, timeout=900,
                          env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})})


class Machines(unittest.TestCase):
    def test_files(self) -> None:
        """Each is valid YAML, and each of its figures says where it is from."""
        for path in (ROOT / sim.MACHINES).glob("*.yaml"):
            with self.subTest(path.name):
                text = path.read_text(encoding="utf-8")
                self.assertGreater(len(yaml.safe_load(text)), 15)
                for line in text.splitlines():
                    if not line.startswith("#"):
                        self.assertRegex(line, r"#.*\[\w+\]", "no source")

    def test_refused(self) -> None:
        for argv, said in ((["--machine", "epyc", "packet"], "no machine 'epyc' (nearest: epyc7702x2)"),
                           (["packt"], "no workload 'packt' (nearest: packet"),
                           (["--cores", "0", "packet"], "at least 1"), ([], "which workload?"),
                           (["--trafic", "x.png", "packet"], "nearest: --traffic"),
                           (["--cores", "2", "--cores=4", "packet"], "--cores is given twice"),
                           (["--smt", "--smt", "packet"], "--smt is given twice"),
                           (["--core", "1", "packet"], "unknown option --core (nearest: --cores)"),
                           (["--scheduler", "", "packet"], "names no module"),
                           (["--calibrate", "packet"], "takes no workload ('packet')"),
                           (["--traffic", "/dev/full", "packet"], "a picture ends in .png, .pdf, .svg"),
                           (["--traffic", "x.gif", "packet"], "a picture ends in .png, .pdf, .svg"),
                           (["--traffic", "/nowhere/x.png", "packet"], "cannot write /nowhere/x.png: No such file"),
                           (["--trace", "/", "packet"], "cannot write /: Is a directory"),
                           (["--trace", "-", "packet"], "--trace takes the name of a file"),
                           (["packet", "--reps", "1", "--cores=4"], "--cores=4 is the simulator's: it stands before 'packet'"),
                           (["--scheduler", "fife:private=0", "packet"], "no module 'fife' (nearest: fifo; a directory"),
                           (["--machine", "README.md", "packet"], "a path has a slash: ./README.md"),
                           (["./no.c"], "./no.c cannot be read: No such file"), (["/"], "a program is one C file"),
                           (["tests/x.cpp"], "a program is one C file")):
            with self.subTest(argv), self.assertRaises(Stop) as stop:
                sim.main(argv)
            self.assertIn(said, str(stop.exception))
            self.assertEqual(stop.exception.code, 2)

    def test_environment(self) -> None:
        """What the environment says is the default, as it is for a program that is run by itself."""
        with mock.patch.dict(os.environ, {"TENTER_MACHINE": "d1548", "TENTER_SCHEDULER": "lifo"}):
            args = sim.parser().parse(["packet"])
            self.assertEqual((args.machine, args.scheduler), ("d1548", "lifo"))
            self.assertEqual(sim.parser().parse(["--machine", "e5410x2"]).machine, "e5410x2")

    def test_split(self) -> None:
        self.assertEqual(sim.split(["--cores", "4", "packet", "--cores", "9"]),
                         (["--cores", "4", "packet"], ["--cores", "9"]))
        self.assertEqual(sim.split(["--cores=4", "yield"]), (["--cores=4", "yield"], []))


class Where(unittest.TestCase):
    """What is made of the file that a simulated program writes."""

    WHERE = {"cores": 2, "end_ns": 9000, "cut": False, "traffic": [[0, 1, 7]], "workers": {"1": 0}, "lines": [],
             "events": [[sim_where.ON, 1, 1000, 0], [sim_where.RUN, 1, 2000, 11], [sim_where.RUN, 1, 3000, 22],
                        [sim_where.OFF, 1, 4000, 0], [sim_where.ON, 1, 6000, 0], [sim_where.RUN, 1, 7000, 0],
                        [sim_where.RUN, 1, 8000, 11]]}

    def test_trace(self) -> None:
        said = sim_where.trace(self.WHERE, "m")
        shown = [(e["name"], e["ts"], e["dur"]) for e in said["traceEvents"] if e["ph"] == "X"]
        self.assertEqual(shown, [("fibre 0", 2, 1), ("fibre 1", 3, 1), ("no core", 4, 2), ("fibre 1", 6, 1), ("fibre 0", 8, 1)])
        self.assertIn("worker 0", [e["args"]["name"] for e in said["traceEvents"] if e["ph"] == "M"])

    def test_traffic(self) -> None:
        self.assertEqual(sim_where.matrix(self.WHERE), [[0, 7], [0, 0]])
        with self.assertRaises(Stop) as stop:
            sim_where.draw({**self.WHERE, "traffic": []}, "m", Path("/nowhere/x.png"))
        self.assertIn("nothing to draw", str(stop.exception))
        with self.assertRaises(Stop) as stop:
            sim_where.draw(self.WHERE, "m", Path("/nowhere/x.png"))
        self.assertIn("sim --traffic /nowhere/x.png", str(stop.exception))

    def test_full(self) -> None:
        """What cannot be written is a line, and code 2."""
        with open("/dev/full", "w", encoding="utf-8") as full:
            for argv in (["sim", "--list"], ["list"]):
                done = subprocess.run([sys.executable, "-m", "experiments.runner", *argv], cwd=ROOT, stdout=full, text=True,
                                      stderr=subprocess.PIPE, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, r"(?m)\A(?:(?!tenter:).*\n)*tenter: cannot write.*: No space left on device\n\Z")

    def test_without_gdb(self) -> None:
        with mock.patch.object(sim_where.shutil, "which", lambda name: None):
            self.assertEqual(sim_where.fields(Path("x"), [(1, 2), (3, 4)]), [None, None])

    def test_gdb_takes_too_long(self) -> None:
        """It ends no run; the fields are unknown, and asked for again with the next record."""
        said = {"sim": {"lines": [{"line": "a", "pc": 1, "at": 2}]}}
        late = subprocess.TimeoutExpired("gdb", 120)
        answer = subprocess.CompletedProcess([], 0, '{"1:2": {"field": "struct s.f"}}')
        with mock.patch.object(sim_where.shutil, "which", lambda name: name), \
                mock.patch.object(sim_where.subprocess, "run", side_effect=[late, late, answer]) as run:
            sim_where.name_record(said, Path("late"))
            self.assertIsNone(said["sim"]["lines"][0]["field"])
            where = {"lines": [[1, 2]]}
            self.assertEqual(sim_where.name_text("  7 transfers, waited 1", where, Path("late")), "  7 transfers, waited 1")
            sim_where.name_record(said, Path("late"))
            self.assertEqual(said["sim"]["lines"][0]["field"], "struct s.f")
            self.assertEqual(run.call_count, 3)


class Runs(unittest.TestCase):
    """One build for each module; then invocations of milliseconds."""

    def record(self, *argv: str, env: dict[str, str] | None = None) -> dict[str, Any]:
        done = tenter("--json", "-", *argv, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def test_plain_ninja(self) -> None:
        """All that is built by default is linked, not only the workloads, which `./tenter sim` asks for by name."""
        self.record("--cores", "2", *SMALL)         # it is set up
        folder = MesonBuilder(ROOT).folder(Variant.of({"runtime": "sim", "schedulers": "fifo"}))
        done = subprocess.run(["ninja", "-C", str(folder)], text=True, capture_output=True, check=False, timeout=900)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        said = subprocess.run([folder / "core" / "tenter-config"], text=True, capture_output=True, check=True, timeout=60)
        self.assertEqual(json.loads(said.stdout)["runtime"], "simulate")

    def test_no_plugin(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["meson", "setup", folder, str(ROOT), "-Druntime=sim", "-Dschedulers=fifo,plugin"], text=True,
                                  capture_output=True, check=False, timeout=600)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("ERROR: Problem encountered: -Druntime=sim takes no plug-in", done.stdout)

    def test_modules(self) -> None:
        for module in ("fifo", "lifo"):
            times = []
            for cores in (2, 8, 128):
                said = self.record("--cores", str(cores), "--scheduler", module, *SMALL)
                self.assertEqual(said["status"], "ok")
                self.assertEqual((said["sim"]["machine"], said["sim"]["cores"]), ("epyc7702x2", cores))
                self.assertEqual(said["params"]["workers"], cores)
                self.assertEqual(said["binary"]["scheduler"], module)
                self.assertGreater(said["sim"]["accesses"], 200 * 2000)
                times.append([s["value"] for s in said["samples"] if s["metric"] == "time"][0])
            self.assertLess(times[1], times[0], "eight cores are faster than two")

    def test_work(self) -> None:
        """A packet's work takes as long as it was asked to: what is calibrated is the loop that then runs."""
        time = {}
        for work in (0, 20000):
            said = self.record("--cores", "1", *SMALL, "--workers", "1", "--work", str(work))
            time[work], = (s["value"] for s in said["samples"] if s["metric"] == "time")
        self.assertAlmostEqual((time[20000] - time[0]) / 200 * 1e9 / 20000, 1, delta=0.03)

    def test_64_cores(self) -> None:
        """Each module; each policy, each way to choose a shard, whom thieves try and what becomes of full queues."""
        for spec in ("skeleton", "yields", "yields:yield=soft:size=4", "fifo:layout=global", "fifo:victims=busiest:private=0",
                     "lifo:full=chain:private=1:capacity=2", "lifo:request=ticket:private=0", "multiq:queues=64:stick=1:buffer=1",
                     "staged:stages=9:control=0", "pushing:fresh=push:queue=locked", "pushing:fresh=push:queue=node",
                     "hybrid", "hybrid:policy=switch:n=8:private=0", "hybrid:policy=reverse:n=2", "hybrid:policy=reverse:n=8:private=0",
                     "sharded:choice=two", "sharded:shards=64:choice=random", "sharded:bound=16:capacity=4"):
            said = self.record("--cores", "64", "--scheduler", spec, *SMALL)
            self.assertEqual((said["status"], said["sim"]["cores"], said["params"]["workers"]), ("ok", 64, 64), spec)
            self.assertEqual(said["binary"]["scheduler"], spec.split(":", maxsplit=1)[0])

    def suite(self, name: str) -> Path:
        """A suite of tests/simulated, bound to all modules."""
        matrix = yaml.safe_load((ROOT / "experiments" / "matrices" / "schedulers-sim.yaml").read_text(encoding="utf-8"))
        folder = MesonBuilder(ROOT).folder(Variant.of(matrix["build"]))
        if not (folder / "build.ninja").exists():
            subprocess.run(["meson", "setup", folder, "-Dtests=false", *(f"-D{k}={v}" for k, v in matrix["build"].items())],
                           cwd=ROOT, capture_output=True, check=True, timeout=600)
        done = subprocess.run(["ninja", "-C", str(folder), f"tests/simulated/{name}"], text=True, capture_output=True,
                              check=False, timeout=900)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        return folder / "tests" / "simulated" / name

    def passes(self, suite: Path, cores: int, wanted: str, *argv: str) -> None:
        there = {**os.environ, "TENTER_MACHINE": str(ROOT / sim.MACHINES / "epyc7702x2.yaml"), "TENTER_CORES": str(cores)}
        done = subprocess.run([suite, *argv], text=True, capture_output=True, check=False, timeout=900, env=there)
        self.assertEqual((done.returncode, wanted in done.stdout), (0, True), f"{argv}: {done.stdout[-3000:]}")

    def test_conformance(self) -> None:
        """The conformance suite, on 64 cores with up to as many workers: each module, and the preset."""
        matrix = yaml.safe_load((ROOT / "experiments" / "matrices" / "schedulers-sim.yaml").read_text(encoding="utf-8"))
        modules = matrix["build"]["schedulers"].split(",")
        self.assertEqual(sorted(modules), sorted(p.parent.name for p in (ROOT / "schedulers").glob("*/*.c")))
        conformance = self.suite("conformance")
        for spec in (*modules, "pushing:preset=fibre"):
            self.passes(conformance, 64, "16 passed, 0 failed", spec)

    def test_bound(self) -> None:
        """Groups with room for so many members, and twice the load through a channel to the spawner, under each module."""
        self.passes(self.suite("bound"), 12, "3 passed, 0 failed")

    def test_wave(self) -> None:
        """A crowd of 10^5 in ten kinds of wait that is cancelled in one wave takes no longer for each than one of 10^4, and no
        more steals: a thief takes half of what others have not begun, however much that is."""
        took: dict[int, dict[str, float]] = {}
        stolen: dict[int, int] = {}
        for fibres in (10_000, 100_000):
            said = self.record("--cores", "2", "--scheduler", "fifo", "wave", "--workers", "2", "--fibres", str(fibres), "--reps", "1",
                               "--warmup", "0")
            self.assertEqual(said["status"], "ok", said)
            took[fibres] = {s["metric"]: s["value"] for s in said["samples"]}
            stolen[fibres] = said["counters"]["steal_hit"]
        for metric in ("told", "gone"):
            self.assertLess(took[100_000][metric], 1.25 * took[10_000][metric], took)
        self.assertGreater(stolen[10_000], 0)
        self.assertLess(stolen[100_000], 12.5 * stolen[10_000], stolen)

    def test_victims_by_distance(self) -> None:
        """victims=topology: of what is stolen, the part that comes from the same complex (three of 63 others) is several
        times that of chance."""
        argv = ["packet", "--packets", "2000", "--reps", "1", "--warmup", "0", "--pin"]
        for module in ("fifo", "lifo"):
            counted = {}
            for victims in ("random", "topology"):
                said = self.record("--cores", "64", "--scheduler", f"{module}:private=0:victims={victims}", *argv)
                self.assertEqual(said["status"], "ok")
                counted[victims] = said["counters"]
            self.assertEqual(counted["random"]["near"], 0)
            self.assertGreater(counted["topology"]["near"] / counted["topology"]["steal_hit"], 4 * 3 / 63)

    def test_pushing(self) -> None:
        """Each kind of queue costs what it costs; only a worker that is stuck is robbed, or any."""
        said = {}
        for queue in ("locked", "node", "stub", "nemesis"):
            said[queue] = self.record("--cores", "8", "--scheduler", f"pushing:fresh=push:queue={queue}", *SMALL)
        self.assertEqual(len({x["sim"]["accesses"] for x in said.values()}), 4, "two of them are the same")
        stuck = self.record("--cores", "8", "--scheduler", "pushing:fresh=push:steal=stuck", *SMALL)
        self.assertGreater(said["nemesis"]["counters"]["steal_hit"], 2 * stuck["counters"]["steal_hit"])

    def test_mixed(self) -> None:
        """Requests in a cluster of their own, with knobs of its own, wait less than among the batch; each runs once."""
        argv = ["mixed", "--rate", "200000", "--duration", "0.002", "--reps", "1", "--warmup", "0", "--workers", "8"]
        waits = {}
        for urgent in ("fifo:layout=global", None):
            there = ["--urgent", "2", "--urgent-scheduler", urgent] if urgent else ["--urgent", "0"]
            said = self.record("--cores", "8", "--scheduler", "fifo", *argv, *there)
            self.assertIn(said["status"], ("ok",) if urgent else ("ok", "saturated"))
            found = {s["metric"]: s["value"] for s in said["samples"]}
            self.assertGreater(found["throughput"], 0)
            waits[urgent] = found["latency_median"]
        self.assertLess(waits["fifo:layout=global"], waits[None])

    def test_more_threads_than_cores(self) -> None:
        """They take turns; nobody is forgotten."""
        said = self.record("--cores", "3", *SMALL, "--workers", "8")
        self.assertEqual((said["status"], said["params"]["workers"], said["sim"]["cores"]), ("ok", 8, 3))

    def test_idle_lists(self) -> None:
        """Workers that find something do not meet at the lock of the idle lists while others sleep: with a look at the
        watch for each packet that is stolen it was 4.1 cycles an instruction."""
        said = self.record("--cores", "80", "--scheduler", "fifo:private=0", "packet", "--packets", "2000", "--reps", "1",
                           "--warmup", "0", "--capacity", "128", "--full", "spin")
        self.assertLess(said["sim"]["stalls_per_instruction"], 2)
        self.assertGreater(said["counters"]["steal_hit"], 500)

    def test_queues_are_full(self) -> None:
        """Row M7.11 is about what becomes of a spawn into a full queue: they are full in its matrix."""
        matrix = yaml.safe_load((ROOT / "experiments" / "matrices" / "packet-overflow-sim.yaml").read_text(encoding="utf-8"))
        options = {**matrix["options"], "packets": 2000, "reps": 1, "warmup": 0, "workers": 20}
        argv = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        said = self.record("--cores", "128", "--scheduler", "fifo:private=0:full=global:pool=ring", "packet", *argv)
        self.assertGreater(said["counters"]["pooled"], 500)

    def test_pthread_mutex(self) -> None:
        """Threads of the program's own that meet at pthread's mutex: one at a time has it, the others sleep."""
        argv = ("--cores", "4", "locks", "--by", "thread", "--fibres", "4", "--locks", "1", "--duration", "0.001", "--reps", "1",
                "--warmup", "0", "--critical", "500", "--other", "0", "--design")
        rate = {}
        for design in ("pthread", "block"):
            said = self.record(*argv, design)
            self.assertEqual(said["status"], "ok", said)
            rate[design] = next(s["value"] for s in said["samples"] if s["metric"] == "throughput")
        self.assertLess(rate["pthread"], 1e9 / 500, "one at a time")
        self.assertGreater(rate["pthread"], rate["block"] / 20)

    def test_killed(self) -> None:
        """A simulation does not outlive who has asked for it."""
        self.record("--cores", "2", *SMALL)         # it is built
        argv = [sys.executable, "-m", "experiments.runner", "sim", "--cores", "2", "packet", "--packets", "5000000"]
        with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}) as runner:
            children = Path(f"/proc/{runner.pid}/task/{runner.pid}/children")
            child = ""
            while runner.poll() is None and not child:
                for pid in children.read_text(encoding="ascii").split():
                    with contextlib.suppress(OSError):  # it has ended
                        if "workloads/packet\0" in Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8"):
                            child = pid
                time.sleep(0.01)
            runner.kill()
            runner.communicate(timeout=60)          # until the child has closed its end
        self.assertTrue(child)
        with contextlib.suppress(OSError):          # it is gone
            for _attempt in range(1000):
                if ") Z" in Path(f"/proc/{child}/stat").read_text(encoding="ascii"):
                    return
                time.sleep(0.01)
            self.fail("it is still there")

    def test_same_again(self) -> None:
        """All but the host's own figures is the same, byte by byte, whatever the environment."""
        for options in ((), ("--capacities",), ("--smt",), ("--scheduler", "lifo")):
            argv = ("--cores", "16", *options, *SMALL, "--hist")
            with self.subTest(options):
                first = self.record("--seed", "7", *argv)
                again = self.record("--seed", "7", *argv, env={"SOMETHING": "x" * 3000})
                other = self.record("--seed", "8", *argv)
                for said in (first, again, other):
                    said["sim"].pop("host")
                self.assertEqual(json.dumps(first), json.dumps(again))
                self.assertNotEqual(first["samples"], other["samples"])

    def test_linked_otherwise(self) -> None:
        """Nothing depends on where the linker puts files: the same again, byte by byte, with them in the opposite order."""
        self.record("--cores", "2", *SMALL)         # it is built
        folder = MesonBuilder(ROOT).folder(Variant.of({"runtime": "sim", "schedulers": "fifo"}))
        objects = [str(p.relative_to(folder)) for p in (folder / "experiments/workloads/packet.p").glob("*.o")]
        for library in ("experiments/workloads/libpacket_common.a", "experiments/workloads/libbench.a", "core/libtenter.a",
                        "core/libsim.a"):
            said = subprocess.run(["ar", "t", library], cwd=folder, text=True, capture_output=True, check=True, timeout=60)
            objects += [name for name in said.stdout.split() if name not in objects]
        with tempfile.TemporaryDirectory() as there:
            for way, order in (("to", objects), ("fro", objects[::-1])):
                (Path(there) / way).mkdir()         # of one length, as argv[0] is: programs read it
                subprocess.run(["cc", "-o", f"{there}/{way}/packet", *order, "-no-pie", "-pthread", "-lm", "-ldl"], cwd=folder,
                               check=True, timeout=300)
            for capacities in ("0", "1"):
                found = []
                for way in ("to", "fro"):
                    env = {**os.environ, "TENTER_MACHINE": str(ROOT / sim.MACHINES / "epyc7702x2.yaml"), "TENTER_CORES": "16",
                           "TENTER_CAPACITIES": capacities}
                    done = subprocess.run(["packet", *SMALL[1:], "--json"], executable=f"{there}/{way}/packet", env=env, text=True,
                                          capture_output=True, check=True, timeout=300)
                    said_of = json.loads(done.stdout)
                    del said_of["binary"]["id"], said_of["sim"]["host"]
                    for line in said_of["sim"]["lines"]:
                        del line["at"], line["pc"]  # which `./tenter sim` makes the name of a field of
                    found.append(json.dumps(said_of))
                self.assertEqual(found[0], found[1], f"capacities={capacities}")

    def test_256(self) -> None:
        """The most that a machine may have, as cores and as threads of half as many: the same again, byte by byte."""
        with tempfile.TemporaryDirectory() as folder:
            machine = Path(folder) / "many.yaml"
            text = (ROOT / sim.MACHINES / "epyc7702x2.yaml").read_text(encoding="utf-8")
            machine.write_text(text.replace("cores: 128", "cores: 256"), encoding="utf-8")
            for options in (("--machine", str(machine), "--cores", "256"), ("--smt", "--cores", "128")):
                with self.subTest(options):
                    first, again = self.record(*options, *SMALL), self.record(*options, *SMALL)
                    for said in (first, again):
                        said["sim"].pop("host")
                    self.assertEqual(json.dumps(first), json.dumps(again))
                    self.assertEqual((first["status"], first["params"]["workers"], first["sim"]["processors"]), ("ok", 256, 256))
                    self.assertEqual([w["worker"] for w in first["sim"]["workers"]], list(range(256)))

    def test_capacities(self) -> None:
        """Caches that are full cost time; without the option nothing falls out."""
        free, full = self.record("--cores", "4", *SMALL), self.record("--capacities", "--cores", "4", *SMALL)
        self.assertEqual((free["sim"]["capacities"], free["sim"]["outer"], free["sim"]["lost"]), (False, 0, 0))
        self.assertIs(full["sim"]["capacities"], True)
        self.assertGreater(full["sim"]["outer"], 1000)
        self.assertGreater(full["sim"]["stall_ns"], free["sim"]["stall_ns"])

    def test_smt(self) -> None:
        """Two threads a core: eight workers on four cores are slower than on eight."""
        times = {}
        for cores, smt in ((4, False), (4, True), (8, False)):
            said = self.record("--cores", str(cores), *(["--smt"] if smt else []), "packet", "--packets", "1000", "--work", "5000",
                               "--warmup", "0", "--reps", "1")
            self.assertEqual(said["sim"]["processors"], cores * (1 + smt))
            self.assertEqual(said["params"]["workers"], cores * (1 + smt))
            times[cores, smt] = [s["value"] for s in said["samples"] if s["metric"] == "time"][0]
        self.assertLess(times[8, False], times[4, True])

    def test_arrivals(self) -> None:
        """An open load: the simulated clock is what it goes by, and the same seed gives the same gaps."""
        argv = ("--cores", "2", "--seed", "3", "arrivals", "--workers", "1", "--rate", "20000", "--reps", "1")
        first, again = self.record(*argv), self.record(*argv)
        for said in (first, again):
            said["sim"].pop("host")
        self.assertEqual(json.dumps(first), json.dumps(again))
        self.assertEqual(first["status"], "ok")
        latency = [s["value"] for s in first["samples"] if s["metric"] == "latency_median"]
        self.assertTrue(latency and 0 < latency[0] < 1e5, latency)
        self.assertEqual(set(first["unavailable"]), {"cpu", "idle_share"})
        self.assertNotIn("cpu", {s["metric"] for s in first["samples"]})

    def test_open_load(self) -> None:
        """It goes by the simulated clock: its rate is kept, and idle time costs none of the host's."""
        said = self.record("--cores", "4", "packet", "--packets", "300", "--reps", "1", "--warmup", "0",
                           "--rate", "100000")
        self.assertEqual(said["status"], "ok", said)
        rate = [s["value"] for s in said["samples"] if s["metric"] == "throughput"][0]
        self.assertAlmostEqual(rate / 100000, 1, delta=0.05)

    def test_lines_are_named(self) -> None:
        lines = self.record("--cores", "32", *SMALL)["sim"]["lines"]
        self.assertTrue(any("tn_sched_alloc" in line["line"] for line in lines), lines)

    def test_where(self) -> None:
        """Each worker's time adds up; contended lines have the names of fields; a picture and a trace are there."""
        with tempfile.TemporaryDirectory() as folder:
            picture, trace = Path(folder) / "t.png", Path(folder) / "t.json"
            said = self.record("--cores", "4", "--traffic", str(picture), "--trace", str(trace), *SMALL)["sim"]
            self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")
            events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
        self.assertEqual([w["worker"] for w in said["workers"]], [0, 1, 2, 3])
        for worker in said["workers"]:
            self.assertAlmostEqual(sum(v for k, v in worker.items() if k != "worker"), said["virtual_ns"], delta=4)
            self.assertGreater(worker["busy_ns"], worker["kernel_ns"])
            self.assertGreater(worker["lines_ns"], 0)
        runs = [e for e in events if e.get("cat") == "fibre"]
        self.assertGreater(len(runs), 200, "each packet is a fibre")
        names = {e["args"]["name"] for e in events if e["ph"] == "M"}
        self.assertLessEqual({"worker 0", "worker 1", "worker 2", "worker 3"}, names)
        for one, other in ((a, b) for a in runs[:50] for b in runs[:50] if a is not b and a["tid"] == b["tid"]):
            self.assertTrue(one["ts"] + one["dur"] <= other["ts"] + 1e-6 or other["ts"] + other["dur"] <= one["ts"] + 1e-6,
                            "a thread runs one fibre at a time")
        if shutil.which("gdb"):
            fields = " ".join(str(line["field"]) for line in said["lines"])
            self.assertRegex(fields, r"struct \w+\.\w+, (core|schedulers)/")
            done = tenter("--cores", "4", "--trace", "/dev/full", *SMALL)
            self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (
                2, "tenter: cannot write /dev/full: No space left on device"))
            text = done.stdout
            self.assertRegex(text, r"transfers, waited .*\(\*?struct \w+\.\w+, \w+/.*:\d+\)\n")
            self.assertRegex(text, r"worker 3 +busy +\d")

    def test_refused(self) -> None:
        self.record("--cores", "2", *SMALL)         # it is built
        with tempfile.TemporaryDirectory() as folder:
            bad = Path(folder) / "bad.yaml"
            text = (ROOT / sim.MACHINES / "epyc7702x2.yaml").read_text(encoding="utf-8")
            for change, said in ((("hit: 0.3", "hit: fast"), "hit takes a time in ns from 0 to below 1e9"),
                                 (("cores: 128", "cores: 1e9"), "cores takes a whole number from 0 to below 1e9"),
                                 (("stores: 48", "stores: 2.5"), "stores takes a whole number from 0 to below 1e9"),
                                 (("layers: [4, 64]", "layers: [4, x]"),
                                  "layers takes 1 to 4 whole numbers, each from 0 to below 1e9"),
                                 (("transfer: [25, 110, 220]", "transfer: [25, 110]"),
                                  "transfer has 2 times: it takes 3, one for each of the layers"),
                                 (("transfer: [25, 110, 220]", "transfer: [25, 220, 110]"),
                                  "transfer: a line from farther away comes sooner"),
                                 (("hit:", "hits:"), "there is no key 'hits'"),
                                 (("smt:", "smt"), "bad.yaml:33: a line is 'key: value', a comment or empty"),
                                 (("hit: 0.3", "hit: -0.3"), "hit takes a time in ns from 0"),
                                 (("layers: [4, 64]", "layers: [4, 64"), "layers: a list is written [a, b]"),
                                 (("layers: [4, 64]", "layers: [4, 64] 9"), "layers: '9"),
                                 (("cores: 128", "cores: 128 #" + 600 * " " + "hit: 7\nhits: 7"), "no key 'hits'"),
                                 (("hit: 0.3", ""), "the key 'hit' is missing"),
                                 (("ways: [8, 8, 16]", "ways: [8, 8]"), "one value for each level of caches"),
                                 (("capacity: [32, 512, 16384]", ""), "one value for each level of caches"),
                                 (("cores: 128", "cores: 500"), "cores: 1 to 256")):
                bad.write_text(text.replace(*change), encoding="utf-8")
                done = tenter("--machine", str(bad), *SMALL)
                self.assertEqual(done.returncode, 2, done.stderr)
                lines = [x for x in done.stderr.splitlines() if x.startswith("tenter:")]
                self.assertEqual(len(lines), 1, done.stderr)
                self.assertIn(said, lines[0])
            bad.write_text(re.sub("(?m)^(instruction|hit): [0-9.]+", r"\1: 0.0002", text), encoding="utf-8")
            done = tenter("--machine", str(bad), *SMALL)
            self.assertEqual(done.returncode, 2)
            self.assertIn("bad.yaml: instruction or hit: at least 0.001, or no time would pass", done.stderr)
            caches = ("capacity", "ways", "sharing", "victim", "reach")
            kept = [x for x in text.splitlines() if not x.startswith(caches)]
            bad.write_text("\n".join(kept) + "\n", encoding="utf-8")
            done = tenter("--machine", str(bad), "--capacities", *SMALL)
            self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (
                2, "tenter: the machine 'bad' says nothing of its caches (capacity, ways, sharing, victim, reach)"))
            done = tenter("--machine", folder, *SMALL)
            self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (
                2, f"tenter: {folder} cannot be read: Is a directory"))
            for endless in ("/dev/zero", "/proc/self/exe"):
                done = tenter("--machine", endless, *SMALL)
                self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (
                    2, f"tenter: {endless} is no text of less than 64 KiB, as a machine file is"))
        done = tenter(*SMALL, env={"TENTER_CORES": "many"})
        self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (
            2, "tenter: TENTER_CORES=many: how many of the machine's cores, 1 to 256"))
        done = tenter(*SMALL, env={"TENTER_SMT": "yes"})
        self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (2, "tenter: TENTER_SMT=yes: 0 or 1"))
        for argv, code, said in ((["--cores", "129", *SMALL], 2, "129 cores: the machine 'epyc7702x2' has 128, each with two threads by --smt"),
                                 (["--smt", "--cores", "129", *SMALL], 2, "129 cores: the machine 'epyc7702x2' has 128"),
                                 (["--cores", "999", *SMALL], 2, "999 cores: the machine 'epyc7702x2' has 128"),
                                 (["--machine", "e5410x2", "--smt", *SMALL], 2,
                                  "the machine 'e5410x2' says nothing of two threads on a core (smt)"),
                                 ([*SMALL, "--clock", "tsc"], 77, "no counter"),
                                 ([*SMALL, "--counters", "perf"], 77, "a simulated machine has none"),
                                 (["stacks"], 2, "stacks is not to be simulated: there is no program 'stacks'")):
            done = tenter(*argv)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(said, done.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
