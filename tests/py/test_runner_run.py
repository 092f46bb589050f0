# SPDX-License-Identifier: MIT
"""Runs over made-up programs: each status, each option, each way to be cut short."""
from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from fake_tree import CONFIG, FakeBuilder, TreeCase, program

from experiments.runner import calibrate, child, environment, export, listing, plan, progress, store
from experiments.runner import matrix as matrices
from experiments.runner import run as runner_run
from experiments.runner.build import Build, Variant
from experiments.runner.environment import capture
from experiments.runner.errors import Stop
from experiments.runner.run import main

HERE = Path(__file__).resolve().parent
ONE = "factors: {workers: 1}\nblocks: 1\n"
SIX = "program: good\nfactors: {scheduler: [fifo, lifo], workers: [1, 2, 3]}\nblocks: 2\n" \
      "oversubscribed: true\n"


class Statuses(TreeCase):
    def one(self, name: str, code: int, status: str, message: str, more: str = "") -> None:
        self.matrix(f"program: {name}\n" + ONE + more)
        outcome = self.run_it("m")
        row = self.rows()[0]
        self.assertEqual((row["status"], outcome.code), (status, code), row["message"])
        self.assertIn(message, row["message"] or "")
        self.assertEqual(outcome.counts, {status: 1})
        self.assertTrue(row["cell"] and row["started"] and row["env_id"])
        if status != "skipped" or name == "unsupported":
            self.assertTrue((self.out / row["output_path"]).exists())

    def test_simulated(self) -> None:
        """What depends on the host stands in sim.host, and is found there by those who plan and merge."""
        self.matrix("program: simulated\n" + ONE)
        self.run_it("m")
        row = self.rows()[0]
        self.assertEqual(set(row["sim"]["host"]), {"cpu_s", *store.OF_HOST})
        self.assertEqual(set(row) & set(store.OF_HOST), set())
        for key in store.OF_HOST:
            self.assertEqual(store.of_host(row, key), row["sim"]["host"][key])
        self.assertGreater(store.of_host(row, "wall_s"), 0)
        self.assertEqual(store.of_host({"wall_s": 2.0, "sim": None}, "wall_s"), 2.0)

    def test_not_calibrated(self) -> None:
        """Said before anything is built or run, though only the last cell asks for the machine `host`."""
        (self.tree / "core").mkdir()
        (self.tree / "core/config.c").write_text('variables[] = {{.name = "MACHINE"}};\nfamilies[] = {"TEST_"};\n')
        self.matrix("build: {runtime: sim}\ninclude:\n  - factors: {program: good, workers: 1}\n"
                    "  - factors: {program: good, workers: 1, TENTER_MACHINE: host}\nblocks: 1\norder: sequential\n")
        with mock.patch.object(calibrate, "path", side_effect=Stop("the machine 'host' is not calibrated")):
            self.assertIn("'host' is not calibrated", self.stops("m"))
        self.assertFalse(self.out.exists())

    def test_ok(self) -> None:
        self.one("good", 0, "ok", "")
        row = self.rows()[0]
        self.assertEqual(row["binary"]["scheduler"], "fifo")
        self.assertEqual([s["warmup"] for s in row["samples"]], [True, False])
        self.assertGreater(row["rusage"]["max_rss_kib"], 0)
        self.assertEqual(row["load_kind"], "closed")
        self.assertEqual(row["hist"]["latency"]["buckets"], [[1, 2, 5000]])

    def test_crash(self) -> None:
        self.one("crash", 3, "failed", "killed by SIGSEGV: about to fall")
        self.assertIn("about to fall", (self.out / self.rows()[0]["output_path"]).read_text())

    def test_hang_is_killed_with_its_group(self) -> None:
        self.one("hang", 3, "timeout", "still running after 1 s", "timeout: 1\n")
        gone_soon(self, int((self.tree / "bin/hang.pid").read_text()))

    def test_wrong_answer(self) -> None:
        self.one("invalid", 1, "invalid", "42 lines, not 43")

    def test_saturated(self) -> None:
        self.one("saturated", 0, "saturated", "fell behind")

    def test_bad_output(self) -> None:
        for name, message in (("badjson", "not JSON"), ("twojson", "more than one JSON object"),
                              ("nosamples", "no samples"), ("silent", "printed nothing"),
                              ("infinite", "1e999 is no number"),
                              ("usage", "exit code 2: usage: unknown option")):
            with self.subTest(program=name):
                self.out = self.results / name
                self.one(name, 3, "failed", message)

    def test_unsupported(self) -> None:
        self.one("unsupported", 3, "skipped", "no such hardware")

    def test_no_such_program_in_the_build(self) -> None:
        self.one("peer", 3, "skipped", "no program 'peer'")

    def test_optional_peer(self) -> None:
        self.one("peer", 0, "skipped", "no program 'peer'", "optional: true\n")

    def test_optional_peers_are_told_of_once(self) -> None:
        self.matrix("factors: {program: [peer, unsupported], workers: [1, 2]}\noptional: true\n"
                    "blocks: 2\nbuild: {observe: [off, counters]}\n")
        self.assertEqual(self.run_it("m").code, 0)
        self.assertEqual(self.statuses(), ["skipped"] * 16)
        told = [text.partition("] ")[2].partition(";")[0] for text in self.heard]
        self.assertEqual(sorted(told), ["peer: skipped: there is no program 'peer' in this build",
                                        "unsupported: skipped: unsupported here: no such hardware"])

    def test_a_variant_that_does_not_compile_stops_no_other(self) -> None:
        self.matrix("program: good\nfactors: {scheduler: [broken, fifo]}\nblocks: 1\n")
        self.assertEqual(self.run_it("m").code, 3)
        self.assertEqual(self.statuses(), ["failed", "ok"])
        row = [r for r in self.rows() if r["status"] == "failed"][0]
        self.assertEqual(row["message"], "does not compile: broken.c:3:1: error: expected ';'")
        self.assertIn("expected ';'", (self.out / row["output_path"]).read_text())

    def test_the_others_go_on(self) -> None:
        self.matrix("factors: {program: [crash, invalid, good, badjson]}\nblocks: 2\n")
        self.assertEqual(self.run_it("m").code, 1)
        self.assertEqual(self.statuses(), sorted(["failed", "invalid", "ok", "failed"] * 2))

    def test_a_flood_is_stopped(self) -> None:
        program(self.tree, "good", "yes\n")
        with mock.patch.object(child, "OUTPUT_LIMIT", 1 << 20):
            self.one("good", 3, "failed", "printed more than 1 MiB")

    def test_variables_of_the_caller_do_not_reach_the_program(self) -> None:
        program(self.tree, "good", "[ -z \"${TENTER_SCHEDULER-}\" ] && cat <<'END'\n"
                + json.dumps({"schema": 1}) + "\nEND\nexit 77\n")
        with mock.patch.dict(os.environ, {"TENTER_SCHEDULER": "lifo"}):
            self.one("good", 3, "skipped", "")
        self.assertIn("schema", (self.out / self.rows()[0]["output_path"]).read_text())


class Estimates(unittest.TestCase):
    def test_learns(self) -> None:
        """What has ended says how long the like of it takes: the same cell, else cells of its program and runtime."""
        def cell(program: str, workers: int, told: float | None = None, **build: str) -> matrices.Cell:
            return matrices.Cell(program, {"workers": workers}, {}, build, estimate=told)

        with tempfile.TemporaryDirectory() as empty:
            estimator = plan.Estimator(Path(empty), "m")
        self.assertEqual([estimator.seconds(cell("a", 1)), estimator.seconds(cell("a", 1, 5))], [plan.GUESS, 5])
        estimator.ended(cell("a", 1, 5), 20.0, "ok")
        estimator.ended(cell("a", 2, 5), 10.0, "ok")
        estimator.ended(cell("a", 2, 5), 99.0, "skipped")
        self.assertEqual(estimator.seconds(cell("a", 1, 5)), 20)
        self.assertEqual(estimator.seconds(cell("a", 3, 4)), 4 * 3)
        self.assertEqual(estimator.seconds(cell("a", 3, 4, runtime="sim")), 4)
        self.assertEqual(estimator.seconds(cell("b", 3, 4)), 4)


class Options(TreeCase):
    def setUp(self) -> None:
        super().setUp()
        self.matrix(SIX)

    def test_plan_runs_nothing(self) -> None:
        outcome = self.run_it("m", "--plan")
        assert outcome.plan is not None
        self.assertEqual(len(outcome.plan["cells"]), 6)
        self.assertEqual(outcome.invocations, 12)
        self.assertEqual(outcome.plan["estimate_s"], 12 * plan.GUESS)
        self.assertFalse(self.results.exists())

    def test_plan_says_what_it_could_not_check(self) -> None:
        self.matrix("factors: {program: [good, peer]}\noptional: true\n")
        self.assertEqual(self.run_it("m", "--plan").code, 0)
        self.assertEqual(self.heard, ["note: the options of peer are not checked: there is no "
                                      "program 'peer' in this build"])

    def test_only(self) -> None:
        self.run_it("m", "--only", "scheduler=fifo", "--only", "workers=1,3")
        self.assertEqual({(r["params"]["scheduler"], r["params"]["workers"])
                          for r in self.rows()}, {("fifo", 1), ("fifo", 3)})

    def test_only_names_the_nearest(self) -> None:
        self.assertIn("unknown factor 'wrokers' of matrix m (nearest: workers)",
                      self.stops("m", "--only", "wrokers=1"))
        self.assertIn("(nearest: fifo)", self.stops("m", "--only", "scheduler=fif"))
        self.assertIn("factor=value", self.stops("m", "--only", "workers"))

    def test_shards_part_the_cells(self) -> None:
        seen: list[str] = []
        for index in (1, 2, 3, 4):
            self.out = self.results / f"s{index}"
            self.run_it("m", "--shard", f"{index}/4")
            rows = self.rows()
            cells = {r["cell"] for r in rows}
            self.assertEqual(len(rows), 2 * len(cells))
            seen += cells
        self.assertEqual((len(seen), len(set(seen))), (6, 6))
        self.out = self.results / "s5"
        self.assertIn("i/n", self.stops("m", "--shard", "5/4"))

    def test_limit_then_resume(self) -> None:
        self.assertEqual(self.run_it("m", "--limit", "5").code, 3)
        self.assertEqual(len(self.rows()), 5)
        self.assertEqual(self.run_it("--resume", str(self.out), out=False).code, 0)
        self.complete()

    def complete(self) -> None:
        pairs = [(r["cell"], r["block"]) for r in self.rows() if r["status"] == "ok"]
        self.assertEqual((len(pairs), len(set(pairs))), (12, 12))

    def test_resume_takes_the_newest_of_the_matrix(self) -> None:
        self.run_it("m", "--limit", "1", out=False)
        folder = (self.results / "latest").resolve()
        self.run_it("m", "--resume", "--limit", "1", out=False)
        self.run_it("--resume", "m", out=False)
        self.assertEqual(len(self.rows(folder)), 12)
        self.matrix(SIX, "other")
        self.assertIn("no run of 'other'", self.stops("other", "--resume", out=False))
        self.assertIn("unknown matrix 'otter' (nearest: other)",
                      self.stops("otter", "--resume", out=False))
        self.assertIn("is a run of 'm', not of 'other'",
                      self.stops("other", "--resume", str(folder), out=False))

    def test_resume_of_a_finished_run_does_nothing(self) -> None:
        self.run_it("m")
        self.assertEqual(self.run_it("--resume", str(self.out), out=False).code, 0)
        self.complete()

    def test_resume_after_a_rebuild_measures_the_new_binary(self) -> None:
        self.run_it("m")
        with open(self.tree / "bin/good", "a", encoding="utf-8") as file:
            file.write("# other bytes\n")
        self.run_it("--resume", str(self.out), out=False)
        self.assertEqual(len({r["cell"] for r in self.rows()}), 12)
        self.assertIn("12 recorded invocations are of binaries built before",
                      " ".join(self.heard))

    def test_retry_failed_and_rerun(self) -> None:
        self.matrix("factors: {program: [good, crash]}\nblocks: 2\n")
        self.run_it("m")
        self.run_it("--resume", str(self.out), out=False)
        self.assertEqual(len(self.rows()), 4)
        self.run_it("--resume", str(self.out), "--retry-failed", out=False)
        self.assertEqual(len(self.rows()), 6)
        self.run_it("--resume", str(self.out), "--rerun", out=False)
        self.assertEqual(len(self.rows()), 10)

    def test_resume_keeps_what_was_asked(self) -> None:
        self.run_it("m", "--only", "scheduler=lifo", "--seed", "7", "--limit", "1")
        self.assertIn("--seed is 7", self.stops("--resume", str(self.out), "--seed", "8",
                                                out=False))
        self.run_it("--resume", str(self.out), out=False)
        self.assertEqual({r["params"]["scheduler"] for r in self.rows()}, {"lifo"})
        self.assertEqual({r["seed"] for r in self.rows()}, {7, 8})

    def test_no_second_run_into_a_folder(self) -> None:
        self.run_it("m", "--limit", "1")
        self.assertIn("--resume", self.stops("m"))

    def test_orders(self) -> None:
        def order(*more: str) -> list[tuple[str, int]]:
            found = self.run_it("m", "--plan", *more).plan
            assert found is not None
            return [tuple(x) for x in found["order"]]
        blocks = order("--seed", "1")
        self.assertEqual(blocks, order("--seed", "1"))
        self.assertNotEqual(blocks, order("--seed", "2"))
        self.assertEqual([b for _, b in blocks], [0] * 6 + [1] * 6)
        self.assertNotEqual([c for c, _ in blocks[:6]], [c for c, _ in blocks[6:]])
        turns = order("--order", "round-robin")
        self.assertEqual([c for c, _ in turns[:6]], [c for c, _ in turns[6:]])
        self.assertEqual([b for _, b in order("--order", "sequential")], [0, 1] * 6)

    def test_cells_that_have_more_blocks(self) -> None:
        """Those of a group with blocks of its own; they are run behind the others' last, and each has its own seeds."""
        self.matrix("factors: {program: good, workers: 1}\nblocks: 2\nreps: 1\n"
                    "include:\n  - {factors: {program: good, workers: 2}, blocks: 4}\n")
        for how, blocks in (("blocks", [0, 0, 1, 1, 2, 3]), ("round-robin", [0, 0, 1, 1, 2, 3]),
                            ("sequential", [0, 1, 0, 1, 2, 3])):
            plan = self.run_it("m", "--plan", "--order", how).plan
            assert plan is not None
            self.assertEqual([b for _cell, b in plan["order"]], blocks)
            self.assertEqual({c["cell"]: c["invocations"] for c in plan["cells"]}, {"good workers=1": 2, "good workers=2": 4})
        self.run_it("m", "--limit", "3")
        self.run_it("--resume", str(self.out), out=False)
        self.assertEqual(sorted((r["params"]["workers"], r["seed"]) for r in self.rows()),
                         [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (2, 4)])
        plan = self.run_it("m", "--plan", "--quick", out=False).plan
        assert plan is not None
        self.assertEqual({c["invocations"] for c in plan["cells"]}, {2})

    def test_broken_lines(self) -> None:
        self.run_it("m", "--limit", "4")
        path = self.out / "rows.jsonl"
        whole = path.read_bytes()
        path.write_bytes(whole + b'{"schema": 1, "cel')
        self.run_it("--resume", str(self.out), out=False)
        self.assertIn("was torn", " ".join(self.heard))
        self.complete()
        lines = whole.splitlines(keepends=True)
        path.write_bytes(lines[0] + lines[1][:40] + b"\n" + lines[2] + lines[3])
        self.assertIn("rows.jsonl:2: broken line", self.stops("--resume", str(self.out),
                                                              out=False))
        path.write_bytes(lines[0] + lines[1][:40] + b"\n")          # last, but not torn
        self.assertIn("rows.jsonl:2: broken", self.stops("--resume", str(self.out), out=False))

    def test_known_knobs_pass(self) -> None:
        self.assertEqual(CONFIG["schedulers"][0]["name"], "fifo")   # type: ignore[index]
        self.matrix("program: good\nfactors: {scheduler: ['fifo:layout=global:capacity=64K']}\n"
                    "blocks: 1\n")
        self.assertEqual(self.run_it("m").code, 0)

    def test_environment(self) -> None:
        self.run_it("m", "--limit", "1")
        self.run_it("--resume", str(self.out), out=False)
        envs = [json.loads(x) for x in (self.out / "env.jsonl").read_text().splitlines()]
        self.assertEqual({r["env_id"] for r in self.rows()}, {e["env_id"] for e in envs})
        env = capture(self.tree)
        self.assertIsNone(env["commit"])
        for key in ("kernel", "cmdline", "cpu_model", "topology", "governor", "turbo", "smt",
                    "thp", "aslr", "clock_source", "cgroup", "perf_paranoid", "limits",
                    "hypervisor", "compilers", "commit", "dirty_diff"):
            self.assertIn(key, env)
        self.assertEqual(environment.kept(
            "BOOT_IMAGE=/vmlinuz root=UUID=1 isolcpus=2-3 secret.token=x processor.max_cstate=1 "
            "transparent-hugepage=never", environment.KERNEL_OPTIONS),
            "isolcpus=2-3 processor.max_cstate=1 transparent-hugepage=never")
        self.assertEqual(environment.kept("fpu tsc vme cx16", environment.CPU_FLAGS), "tsc cx16")
        self.assertIsNone(environment.kept(None, environment.CPU_FLAGS))

    def test_a_run_for_a_row_records_it_and_the_command_that_asked(self) -> None:
        row = runner_run.Reproduced("M7.1", "./tenter reproduce M7.1")
        runner_run.run(["m", "--limit", "1", "--out", str(self.out)], self.tree,
                       FakeBuilder(self.tree), self.results, [], row)
        said = json.loads((self.out / "run.json").read_text())
        self.assertEqual((said["reproduces"], said["command"]), (row.row, row.command))
        with mock.patch("experiments.runner.run.Progress.ended", side_effect=KeyboardInterrupt), \
                mock.patch("experiments.runner.run.say") as told:
            outcome = runner_run.run(["m", "--out", str(self.results / "cut")], self.tree, FakeBuilder(self.tree), self.results, [], row)
        self.assertEqual(outcome.code, 130)
        self.assertIn(f"--resume {self.results / 'cut'}; then ./tenter reproduce M7.1 --from {self.results / 'cut'}", told.call_args.args[0])

    def test_simulations_run_beside_each_other_and_measurements_alone(self) -> None:
        for build, status in (("build: {runtime: sim}\n", "ok"), ("", "failed")):
            self.matrix(f"program: pair\nfactors: {{workers: [1, 2]}}\nblocks: 1\n{build}")
            self.out = self.results / status
            with mock.patch("experiments.runner.matrix.usable_cores", lambda: 2):
                self.run_it("m")
            self.assertEqual(self.statuses(), [status] * 2)
            self.assertEqual([r["order"] for r in self.rows()], [0, 1])
            (self.tree / "bin/both").unlink(missing_ok=True)

    def test_an_interruption_ends_what_other_threads_wait_for(self) -> None:
        timer = threading.Timer(0.2, child.stop.set)
        timer.start()
        self.addCleanup(child.stop.clear)
        ended = child.run(["sleep", "60"], 60)
        timer.join()
        self.assertEqual((ended.status, ended.interrupted), ("interrupted", True))
        self.assertLess(ended.wall, 30)

    def test_google_benchmark_subset(self) -> None:
        self.run_it("m")
        said = export.gbench(self.out)
        self.assertEqual(len(said["benchmarks"]), 12)
        entry = said["benchmarks"][0]
        self.assertAlmostEqual(entry["real_time"], 1e9 / 1100)
        self.assertEqual((entry["time_unit"], entry["run_type"]), ("ns", "iteration"))
        rows = self.out / "rows.jsonl"
        rows.write_text(rows.read_text().replace('"1/s"', '"packets/s"'))
        self.assertEqual(export.gbench(self.out), said)

    def test_list(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            listing.main([], self.tree, FakeBuilder(self.tree))
        for text in ("  fifo", "layout           local|global", "capacity         1..65536",
                     "  null", "  good", "packets          1..1000 (default 10)",
                     "peer            (not here: there is no program 'peer'",
                     f"  {'m':<21} a test (6 cells × ", "  good            sends packets"):
            self.assertIn(text, said.getvalue())
        told = {"name": "address", "range": None, "default": "::1", "help": "where (default ::1)"}
        self.assertEqual(listing._option(told).count("default"), 1)
        self.assertNotIn("default", listing._option({**told, "default": "", "help": "where"}))
        self.assertNotIn("False", said.getvalue())
        self.assertEqual(listing._counted(1, "cell"), "1 cell")
        with contextlib.redirect_stdout(said):
            said.truncate(said.seek(0))
            listing.main(["--json"], self.tree, FakeBuilder(self.tree))
        self.assertEqual(json.loads(said.getvalue())["schedulers"], CONFIG["schedulers"])

    def test_list_has_servers_and_the_pollers_of_other_builds(self) -> None:
        """A service is a program with each front-end; a poller is asked in a build of its own, and said to be missing where that fails."""
        class OfPollers(FakeBuilder):
            def targets(self, variant: Variant, wanted: dict[str, str]) -> Build:
                poller = dict(variant.options).get("poller")
                return self.of(poller, wanted) if poller else super().targets(variant, wanted)

            def of(self, poller: str, wanted: dict[str, str]) -> Build:
                out, path = Build(log=self.tree / "build.log"), self.tree / f"bin/config-{poller}"
                for name in wanted:
                    out.programs.update({name: path} if path.exists() else {})
                    out.problems.update({} if path.exists() else {name: "no liburing"})
                return out

        for path, text in (("io/pollers/null.c", ""), ("io/pollers/thread.c", ""), ("io/pollers/uring.c", ""), ("io/pollers/turns.h", ""),
                           ("experiments/servers/web.c", 'const struct service service = {.name = "web"};\n'),
                           ("experiments/servers/event.c", "void loop(void);\n")):
            (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
            (self.tree / path).write_text(text)
        knobs = [{"name": "mode", "type": "choice", "range": "loop|loop-sleep"}]
        program(self.tree, "config-thread", f"echo '{json.dumps({'pollers': [{'name': 'thread', 'summary': 'a thread', 'knobs': knobs}]})}'\n")
        program(self.tree, "web-event", "")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            listing.main([], self.tree, OfPollers(self.tree))
        for text in ("  thread     a thread", "mode             loop|loop-sleep", "  uring      (not here: ", "no liburing",
                     "  web             (not here", "  web-event       sends packets", "  web-pthread     (not here"):
            self.assertIn(text, said.getvalue())
        self.assertEqual([said.getvalue().count(text) for text in ("  null", "  turns", "  event  ")], [1, 0, 0])

    def test_json(self) -> None:
        said = io.StringIO()
        outcome = self.run_it("m", "--limit", "2")
        with contextlib.redirect_stdout(said), \
                mock.patch("experiments.runner.run.run", lambda _argv: outcome):
            self.assertEqual(main(["m", "--json"]), 3)
        table = json.loads(said.getvalue())
        self.assertEqual((table["results"], table["counts"], table["missing"], table["exit"]),
                         (str(self.out), {"ok": 2}, 10, 3))

    def test_usage(self) -> None:
        for argv, text in ((("--lmit", "3"), "unknown option --lmit (nearest: --limit)"),
                           (("--plam=3",), "unknown option --plam (nearest: --plan)"),
                           (("--order", "block"), "--order: there is no 'block' (nearest: blocks)"),
                           (("--limit", "many"), "--limit: invalid int value: 'many'"),
                           (("m", "--seed"), "--seed: expected one argument"),
                           (("m", "n"), "'n' is one argument too many")):
            self.assertEqual(self.stops(*argv, out=False),
                             f"./tenter run: {text}; ./tenter run --help says more")


# -- cut short ------------------------------------------------------------------------------------

def gone_soon(case: unittest.TestCase, pid: int) -> None:
    """The process has ended, or is a zombie that nobody has fetched yet."""
    for _ in range(2000):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return
        except FileNotFoundError:
            return
        time.sleep(0.05)
    case.fail(f"process {pid} is still there")


class Steps(unittest.TestCase):
    def told(self, terminal: bool, every: float) -> str:
        err = io.StringIO()
        err.isatty = lambda: terminal           # type: ignore[method-assign]
        with contextlib.redirect_stderr(err), mock.patch.object(progress.Steps, "EVERY_S", every):
            steps = progress.Steps("fifo-1")
            steps.tick("[3/40] Compiling a.c")
            steps.tick("")
            steps.close()
        return err.getvalue()

    def test_a_build_says_how_far_it_is(self) -> None:
        self.assertIn("[3/40] fifo-1, 0 s", self.told(True, 20.0))
        self.assertEqual(self.told(False, 20.0), "")
        self.assertEqual(self.told(False, 0.0).splitlines(),
                         ["building [3/40] fifo-1, 0 s so far", "building fifo-1, 0 s so far"])


class CutShort(TreeCase):
    def start(self, *argv: str) -> "subprocess.Popen[str]":
        def default() -> None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        return subprocess.Popen(
            [sys.executable, str(HERE / "fake_tree.py"), str(self.tree), str(self.results), *argv,
             "--out", str(self.out)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            preexec_fn=default)

    def until(self, path: Path, lines: int = 1) -> None:
        for _ in range(6000):
            if path.exists() and len(path.read_text().splitlines()) >= lines:
                return
            time.sleep(0.05)
        self.fail(f"{path} was not written")

    def cut(self, number: int) -> tuple[int, str, int]:
        """Runs good, then slow, and sends a signal while slow waits for its file."""
        self.matrix("factors: {program: [good, slow]}\nblocks: 3\norder: round-robin\n")
        runner = self.start("m")
        self.until(self.tree / "bin/slow.pid")
        pid = int((self.tree / "bin/slow.pid").read_text())
        runner.send_signal(number)
        said, _ = runner.communicate(timeout=600)
        gone_soon(self, pid)
        return runner.returncode, said, len(self.rows())

    def resumed(self) -> None:
        (self.tree / "bin/go").touch()
        self.assertEqual(self.run_it("--resume", str(self.out), out=False).code, 0)
        pairs = [(r["cell"], r["block"]) for r in self.rows() if r["status"] == "ok"]
        self.assertEqual((len(pairs), len(set(pairs))), (6, 6))

    def test_kill_9_loses_no_finished_cell(self) -> None:
        code, _, rows = self.cut(signal.SIGKILL)
        self.assertEqual((code, rows), (-signal.SIGKILL, 1))
        self.resumed()
        self.assertEqual(len(self.rows()), 6)

    def test_ctrl_c(self) -> None:
        code, said, rows = self.cut(signal.SIGINT)
        self.assertEqual((code, rows), (130, 2))
        self.assertEqual(self.rows()[-1]["status"], "interrupted")
        self.assertIn(f"./tenter run --resume {self.out}", said)
        self.assertNotIn("Traceback", said)
        self.resumed()

    def test_sigterm_is_as_ctrl_c(self) -> None:
        code, _, _ = self.cut(signal.SIGTERM)
        self.assertEqual(code, 130)

    def test_two_runners_in_one_folder(self) -> None:
        self.matrix("factors: {program: [good, slow]}\nblocks: 1\norder: round-robin\n")
        runner = self.start("m")
        self.until(self.tree / "bin/slow.pid")
        self.assertIn("another runner is at work",
                      self.stops("--resume", str(self.out), out=False))
        (self.tree / "bin/go").touch()
        runner.communicate(timeout=600)
        self.assertEqual(runner.returncode, 0)

    def test_full_disk_when_a_row_is_written(self) -> None:
        self.matrix("program: good\nfactors: {workers: [1, 2]}\nblocks: 2\n")
        write, calls = os.write, []

        def full(fd: int, data: bytes) -> int:
            calls.append(fd)
            if len(calls) == 3:
                write(fd, data[:100])           # some of it reaches the disk
                raise OSError(28, "No space left on device")
            return write(fd, data)
        with mock.patch("experiments.runner.store.os.write", full):
            said = self.stops("m", code=3)
        self.assertIn(f"./tenter run --resume {self.out}", said)
        self.assertEqual(len(self.rows()), 2)   # each a whole line
        self.run_it("--resume", str(self.out), out=False)
        self.assertEqual(self.statuses(), ["ok"] * 4)

    @unittest.skipUnless(os.geteuid() == 0, "mounting takes root")
    def test_full_disk_for_real(self) -> None:
        self.results.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(self.results)]
        if subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no mounting here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(self.results)], check=False)
        self.matrix("program: big\nfactors: {workers: [1, 2]}\nblocks: 5\n")
        said = self.stops("m", code=3)
        self.assertIn("the disk is full", said)
        self.assertTrue(0 < len(self.rows()) < 10)
        subprocess.run([*mount[:-2], "-o", "remount,size=4m", *mount[-2:]], check=True)
        self.assertEqual(self.run_it("--resume", str(self.out), out=False).code, 0)
        self.assertEqual(self.statuses(), ["ok"] * 10)


if __name__ == "__main__":
    unittest.main()
