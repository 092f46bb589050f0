# SPDX-License-Identifier: MIT
"""An exploration that was cut short goes on from its checkpoint, to the same total."""
from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
from checking import ROOT, Checking  # noqa: E402

from experiments.runner import check_build as build  # noqa: E402
from experiments.runner.errors import Stop  # noqa: E402

COUNTERS = """
static atomic_int x, y;
static void *a(void *p) { for (int i = 0; i < 2; i++) { int v = x; x = v + 1; y++; } return p; }
int main(void) { pthread_create(&t[2], 0, a, 0); go(a, a); pthread_join(t[2], 0); return 0; }
"""
FEWER = COUNTERS.replace("y++;", "")


class Checkpoint(Checking):
    def test_budgets_add_up(self) -> None:
        file, point = self.program(FEWER), str(self.at / "point")
        whole = self.run_check(file)[1]
        parts = [self.run_check(file, "--checkpoint", point, "--budget", "1000")]
        while parts[-1][0] == 3:
            jobs = str(len(parts))
            parts.append(self.run_check(file, "--checkpoint", point, "--resume", "--budget", "1000", "--jobs", jobs))
        self.assertGreater(len(parts), 3)
        self.assertEqual(parts[-1][0], 0)
        self.assertEqual((parts[-1][1]["executions"], parts[-1][1]["blocked"]), (whole["executions"], whole["blocked"]))
        again = self.run_check(file, "--checkpoint", point, "--resume")[1]     # there is nothing left to do
        self.assertEqual((again["verdict"], again["executions"], again["threads"]), ("ok", whole["executions"], 4))

    def test_who_waits(self) -> None:
        """Cut short after each execution, so with threads that wait: in whole, in parts, and in shards."""
        for path in ("tests/check/either.c", "tests/check/ring.c", "dscheck/mutants/wakes.c", "dscheck/mutants/exchanged.c"):
            file, name = str(ROOT / path), Path(path).stem
            point = str(self.at / name)
            whole = self.run_check(file)[1]
            part = self.run_check(file, "--checkpoint", point, "--budget", "1")
            for _ in range(whole["executions"] + 1):
                if part[0] == 3:
                    part = self.run_check(file, "--checkpoint", point, "--resume", "--budget", "1")
            shards = [self.run_check(file, "--shard", f"{i}/3")[1] for i in range(1, 4)]
            for what in ("executions", "blocked"):
                self.assertEqual(part[1][what], whole[what], name)
            self.assertEqual(sum(shard["executions"] for shard in shards), whole["executions"], name)
            # What would wake a turn that sleeps may be another shard's: it is tried.
            self.assertGreaterEqual(sum(shard["blocked"] for shard in shards), whole["blocked"], name)

    def test_shards(self) -> None:
        file, sums = self.program(FEWER), []
        for i in range(1, 4):
            point, shard = str(self.at / f"point{i}"), f"{i}/3"
            self.run_check(file, "--shard", shard, "--checkpoint", point, "--budget", "100", "--jobs", "2")
            sums.append(self.run_check(file, "--shard", shard, "--checkpoint", point, "--resume", "--jobs", "2")[1]["executions"])
        self.assertEqual(sum(sums), self.run_check(file)[1]["executions"])

    def test_of_schedules(self) -> None:
        file, point = self.program(FEWER), str(self.at / "point")
        whole = self.run_check(file, "--bound", "1")[1]["executions"]
        code = self.run_check(file, "--bound", "1", "--checkpoint", point, "--budget", str(whole // 2))[0]
        self.assertEqual(code, 3)
        rest = self.run_check(file, "--bound", "1", "--checkpoint", point, "--resume")[1]
        self.assertEqual((rest["verdict"], rest["executions"]), ("incomplete", whole))     # schedules are not all there is

    def test_refusals(self) -> None:
        file, point = self.program(FEWER), str(self.at / "point")
        self.run_check(file, "--checkpoint", point, "--budget", "100")
        whole = Path(point).read_bytes()
        for text, argv, torn, why in ((COUNTERS, [], 0, "another program"), (FEWER, ["--spurious-cas"], 0, "other options"),
                                      (FEWER, ["--reuse", "off"], 0, "other options"), (FEWER, [], 3, "damaged"),
                                      (FEWER, [], len(whole) - 10, "no checkpoint")):
            Path(point).write_bytes(whole[:len(whole) - torn])
            with self.assertRaises(Stop) as caught:
                self.run_check(self.program(text), "--checkpoint", point, "--resume", *argv)
            self.assertIn(why, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))
            self.assertEqual(caught.exception.code, 2)
        with self.assertRaises(Stop):
            self.run_check(file, "--resume")

    def test_damaged(self) -> None:
        """One bit, anywhere, is seen: what is still to be tried may not become less."""
        file, point = self.program(FEWER), self.at / "point"
        self.run_check(file, "--checkpoint", str(point), "--budget", "100", "--keep", str(self.at / "p.so"))
        whole = point.read_bytes()
        chance = random.Random(2)
        for at in (0, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(30))):
            point.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1:])
            build.fixed_addresses()
            done = subprocess.run([str(build.checker()), str(self.at / "p.so"), "--reuse", "on", "--seed", "0", "--checkpoint", str(point), "--resume"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), (at, done))
        point.write_bytes(whole)
        self.assertEqual(self.run_check(file, "--checkpoint", str(point), "--resume")[0], 0)

    def test_killed_and_interrupted(self) -> None:
        """kill -9 of the first process, and SIGTERM, at moments of chance: the total stays, and nobody is left behind."""
        file = self.program(COUNTERS)
        whole = self.run_check(file, "--keep", str(self.at / "p.so"))[1]["executions"]
        chance = random.Random(1)
        for _ in range(20 if os.environ.get("TENTER_TEST_LONG") else 2):
            point, resume, killed = str(self.at / "point"), [], 0
            Path(point).unlink(missing_ok=True)
            while True:
                with subprocess.Popen([str(build.checker()), str(self.at / "p.so"), "--checkpoint", point, "--interval",
                                       "0.02", "--jobs", str(chance.choice((1, 2, 3))), *resume],
                                      stdout=subprocess.PIPE, text=True) as child:
                    how = chance.choice((signal.SIGKILL, signal.SIGTERM)) if killed < 4 else None
                    if how is not None:
                        time.sleep(chance.uniform(0.05, 0.3))
                        child.send_signal(how)
                        killed += 1
                    out = child.communicate()[0]
                resume = ["--resume"] if Path(point).exists() else []
                if "verdict ok" in out:
                    break
            self.assertIn(f"executions {whole}\n", out)

    def test_signals_end_the_verb(self) -> None:
        file, point = self.program(COUNTERS.replace("i < 2", "i < 4")), self.at / "point"
        for number in (signal.SIGTERM, signal.SIGINT):
            with subprocess.Popen([str(ROOT / "tenter"), "check", file, "--checkpoint", str(point), "--interval", "0.1s"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  start_new_session=True) as child:
                while not point.exists():
                    time.sleep(0.05)
                if number == signal.SIGINT:
                    os.killpg(child.pid, number)      # as a terminal does
                else:
                    child.send_signal(number)
                out = child.communicate()[0]
            self.assertEqual(child.returncode, 130, out)
            self.assertIn("incomplete", out)
            self.assertIn("--resume", out)
            point.unlink()


if __name__ == "__main__":
    unittest.main()
