# SPDX-License-Identifier: MIT
"""The models of locks: against closed forms, each other and the loop itself; the verb; the figure."""
from __future__ import annotations

import contextlib
import io
import itertools
import math
import os
import re
import sys
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path
from typing import Any, Callable
from unittest import mock

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plots"), str(Path(__file__).resolve().parent)]

import locks_b6_3  # noqa: E402
import style  # noqa: E402
import synthetic  # noqa: E402
from experiments.models import locks  # noqa: E402
from experiments.models.locks import Loop  # noqa: E402
from experiments.runner import __main__ as command, tidy  # noqa: E402

#: more of one, more of the other, nothing between, and scales far apart
LOOPS = [Loop(n, *times) for n, times in itertools.product(
    (1, 2, 3, 16, 1000), ((1, 1), (1, 4), (4, 1), (1, 0), (1e-7, 3e-7), (10_000, 0.5)))]
THREADS = (1, 2, 3, 7, 16, 64, 1000)
POINTS = list(itertools.product(LOOPS, THREADS))


def expanded(loop: Loop, threads: int) -> float:
    """(6.5) as it stands."""
    cs, ncs, n, t = loop.critical, loop.other, loop.locks, threads
    return max(cs ** 2 / (n * (ncs + cs)) + (cs * (1 - cs / (n * (ncs + cs))) + ncs) / t,
               cs / n + (cs * (1 - 1 / n) + ncs) / (2 * t))


def product_form(loop: Loop, threads: int) -> Fraction:
    """Throughput of the closed network, exactly, by its normalisation constants (Gordon and Newell)."""
    held, other = Fraction(loop.critical) / loop.locks, Fraction(loop.other)

    def constant(n: int) -> Fraction:
        return sum((math.comb(j + loop.locks - 1, j) * held ** j * other ** (n - j) / math.factorial(n - j)
                    for j in range(n + 1)), Fraction(0))
    return constant(threads - 1) / constant(threads)


class Probabilistic(unittest.TestCase):
    def close(self, one: float, other: float, tolerance: float = 1e-12) -> None:
        self.assertLessEqual(abs(one / other - 1), tolerance, (one, other))

    def test_general_form_is_the_expanded_one(self) -> None:
        for loop, threads in POINTS:                    # one thread too, where (6.4) has another case
            self.close(locks.time(loop, threads), expanded(loop, threads))

    def test_fractions_are_times_of_a_whole(self) -> None:
        for seq, cs, ncs in ((0.0, 1.0, 1.0), (5.0, 3.0, 2.0)):
            whole = seq + cs + ncs
            for threads in THREADS:
                section, contended = locks.section_probability(cs, ncs), locks.contention_probability(4, threads)
                times = locks.program_time(seq, cs, ncs, section, contended, threads)
                shares = locks.program_time(seq / whole, cs / whole, ncs / whole, section, contended, threads)
                self.close(times, shares * whole)
        self.assertEqual(locks.program_time(2, 0, 8, 0, 0, 4), 2 + 8 / 4)      # Amdahl's law

    def test_one_thread(self) -> None:
        for loop in LOOPS:
            self.close(locks.utilisation(loop, locks.throughput(loop, 1)), 1)

    def test_limits(self) -> None:
        for loop in LOOPS:
            self.close(locks.throughput_limit(loop), loop.locks / loop.critical)            # 6.7
            most = loop.locks * (loop.critical + loop.other) / loop.critical
            self.close(locks.utilisation_limit(loop), most)                                 # 6.9
            many = 10 ** 9 * math.ceil(most)
            self.close(locks.throughput(loop, many), locks.throughput_limit(loop), 1e-8)
        self.assertEqual(locks.utilisation_limit(Loop(16, 1, 1)), 32)                       # 6.10

    def test_the_bend(self) -> None:
        """Where the second term overtakes the first, as docs/locks.md has it: at 32 threads in figure 6.2."""
        for loop in LOOPS:
            cs, ncs, n, u = loop.critical, loop.other, loop.locks, loop.alone
            if ncs == 0:
                continue
            bend = u * (n * u + cs - 2 * cs * cs / u) / (2 * cs * ncs)
            for threads, second in ((math.floor(bend * 0.999), False), (math.ceil(bend * 1.001), True)):
                if threads >= 1:
                    last = cs / n + (cs * (1 - 1 / n) + ncs) / (2 * threads)
                    self.assertEqual(math.isclose(locks.time(loop, threads), last, rel_tol=1e-12), second)
        at = Loop(16, 1, 1)
        self.close(locks.utilisation(at, locks.throughput(at, 32)), 2 / (1 / 16 + (15 / 16 + 1) / 64))


class MeanValues(unittest.TestCase):
    def test_one_lock(self) -> None:
        """The machine repair model: closed form by the probability that the lock is free."""
        for critical, other in ((1, 1), (1, 4), (4, 1), (1, 100)):
            for threads in (1, 2, 5, 20, 60):
                free = 1 / sum(math.perm(threads, k) * (critical / other) ** k for k in range(threads + 1))
                found = locks.mva(Loop(1, critical, other), threads).throughput
                self.assertAlmostEqual(found * critical / (1 - free), 1, delta=1e-12)

    def test_one_and_two_threads(self) -> None:
        for loop in LOOPS:
            cs, u = loop.critical, loop.alone
            self.assertAlmostEqual(locks.mva(loop, 1).throughput * u, 1, delta=1e-12)
            two = 2 / (u + cs * cs / (loop.locks * u))
            self.assertAlmostEqual(locks.mva(loop, 2).throughput / two, 1, delta=1e-12)

    def test_product_form(self) -> None:
        for loop, threads in itertools.product(
                [Loop(n, c, o) for n in (1, 2, 5, 16) for c, o in ((1, 1), (1, 4), (3, 1), (1, 0))], (1, 2, 3, 8, 33)):
            found = locks.mva(loop, threads).throughput
            self.assertAlmostEqual(found / float(product_form(loop, threads)), 1, delta=1e-12)

    def test_threads_are_somewhere(self) -> None:
        """Little's law, at the locks and for the whole."""
        for loop, threads in POINTS:
            found = locks.mva(loop, threads)
            self.assertAlmostEqual((found.queue * loop.locks + found.throughput * loop.other) / threads, 1, delta=1e-12)
            self.assertGreaterEqual(found.wait(loop), -1e-12 * loop.critical)
        self.assertEqual(locks.mva(Loop(4, 1, 1), 1).wait(Loop(4, 1, 1)), 0)

    def test_limit(self) -> None:
        for loop in (Loop(1, 1, 1), Loop(4, 1, 3), Loop(2, 4, 1)):
            self.assertAlmostEqual(locks.mva(loop, 5000).throughput / locks.throughput_limit(loop), 1, delta=1e-3)


class Both(unittest.TestCase):
    def test_monotonous_and_bounded(self) -> None:
        def rates(loop: Loop, threads: int) -> tuple[float, float]:
            return locks.throughput(loop, threads), locks.mva(loop, threads).throughput
        slack = 1 + 1e-12
        for loop, threads in POINTS:
            here = rates(loop, threads)
            others = (rates(loop, threads + 1), rates(Loop(loop.locks + 1, loop.critical, loop.other), threads))
            held = rates(Loop(loop.locks, 2 * loop.critical, loop.other), threads)
            apart = rates(Loop(loop.locks, loop.critical, 2 * loop.other), threads)
            for which, rate in enumerate(here):
                self.assertTrue(all(o[which] * slack >= rate for o in others))      # more threads, more locks
                self.assertLessEqual(held[which], rate * slack)
            self.assertLessEqual(apart[1], here[1] * slack)                         # not so the other: next test
            for which, rate in enumerate(here):
                self.assertLessEqual(rate, min(threads / loop.alone, locks.throughput_limit(loop)) * slack)

    def test_more_between_sections_can_raise_the_probabilistic_one(self) -> None:
        """Where docs/locks.md says so, while the first term rules; no program does that, nor mean value analysis."""
        for number, other, threads in itertools.product((2, 16), (0.01, 0.2, 0.5), (2, 7, 64)):
            here, more = Loop(number, 1, other), Loop(number, 1, other * (1 + 1e-6))
            share = locks.section_probability(1, other)
            mean = share / number + (1 - share / number + other) / threads
            if math.isclose(mean, locks.time(here, threads), rel_tol=1e-12):
                self.assertEqual(locks.throughput(more, threads) > locks.throughput(here, threads),
                                 share ** 2 * (threads - 1) > number, (number, other, threads))
        self.assertGreater(locks.throughput(Loop(2, 1, 0.02), 7), locks.throughput(Loop(2, 1, 0.01), 7))

    def test_where_they_are_one(self) -> None:
        """Up to two threads while its first term rules, and for any number where there is nothing but sections."""
        for loop in (Loop(16, 1, 1), Loop(2, 1, 4), Loop(4, 3, 1)):
            self.assertAlmostEqual(locks.mva(loop, 2).throughput / locks.throughput(loop, 2), 1, delta=1e-12)
        for number, threads in itertools.product((1, 4, 16), THREADS):
            loop = Loop(number, 3, 0)
            self.assertAlmostEqual(locks.mva(loop, threads).throughput / locks.throughput(loop, threads), 1, delta=1e-12)

    def test_exponential_times_give_mean_values(self) -> None:
        """Within 2 %: what 60 000 iterations leave of chance."""
        for loop, threads in itertools.product((Loop(1, 1, 4), Loop(4, 3, 1), Loop(16, 1, 1)), (1, 2, 8, 32)):
            played = locks.play(loop, threads, 60_000, 7, "exponential")
            self.assertAlmostEqual(played / locks.mva(loop, threads).throughput, 1, delta=0.02)

    def test_constant_times_lie_above(self) -> None:
        """As docs/locks.md says, with 2 % for chance: up to 18 % above mean value analysis, 27 % above
        the probabilistic model."""
        for loop, threads in itertools.product((Loop(1, 1, 4), Loop(4, 1, 3), Loop(4, 3, 1), Loop(16, 1, 1), Loop(16, 1, 0)),
                                               (1, 2, 4, 8, 16, 32, 64)):
            played = locks.play(loop, threads, 20_000, 7)
            self.assertTrue(0.98 <= played / locks.mva(loop, threads).throughput <= 1.18, (loop, threads))
            self.assertTrue(0.98 <= played / locks.throughput(loop, threads) <= 1.27, (loop, threads))

    def test_one_lock_and_constant_times_lose_nothing(self) -> None:
        for critical, other, threads in ((1, 4, 3), (1, 4, 5), (1, 4, 9), (3, 1, 4)):
            loop = Loop(1, critical, other)
            most = min(threads / loop.alone, 1 / critical)
            self.assertAlmostEqual(locks.play(loop, threads, 20_000, 1) / most, 1, delta=1e-3)

    def test_played_again(self) -> None:
        loop = Loop(16, 1, 1)
        for loops in locks.LOOPS:
            one, again, other = (locks.play(loop, 8, 1000, seed, loops) for seed in (1, 1, 2))
            self.assertEqual(one, again)
            self.assertNotEqual(one, other)

    def test_bad_input(self) -> None:
        loop = Loop(2, 1, 1)
        asks: list[Callable[[], object]] = [
            lambda: Loop(0, 1, 1), lambda: Loop(1, 0, 1), lambda: Loop(1, -1, 1), lambda: Loop(1, math.nan, 1),
            lambda: Loop(1, math.inf, 1), lambda: Loop(1, 1, -1), lambda: Loop(1, 1, math.inf),
            lambda: locks.time(loop, 0), lambda: locks.mva(loop, 0), lambda: locks.play(loop, 0, 10, 1),
            lambda: locks.play(loop, 4, 39, 1), lambda: locks.play(loop, 1, 10, 1, "gaussian")]
        for ask in asks:
            with self.assertRaises(ValueError) as refused:
                ask()
            self.assertRegex(str(refused.exception), r"^[^\n]+$")


class Verb(unittest.TestCase):
    def entry(self, *argv: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), mock.patch.dict(os.environ):
            code = command.entry(["model", *argv])
        return code, out.getvalue(), err.getvalue()

    def test_table(self) -> None:
        code, out, err = self.entry("locks", "--threads", "1..2,4,2", "--locks", "1", "--critical", "100ns", "--other", "0.4us")
        self.assertEqual((code, err), (0, ""))
        lines = out.splitlines()
        self.assertEqual(lines[0], "locks 1, each held for 100 ns, 400 ns between; threads that work rather than wait:")
        self.assertEqual([line.split()[0] for line in lines[1:]], ["threads", "1", "2", "4", "limit"])
        self.assertEqual(lines[3].split(), ["2", "1.92", "1.92", "2.00"])
        self.assertEqual(lines[4].split(), ["4", "3.33", "3.45", "4.00"])
        self.assertEqual(lines[5].split(), ["limit", "5.00", "5.00", "5.00"])

    def test_refusals(self) -> None:
        for argv in (("--threads", "0"), ("--threads", "2..1"), ("--threads", "1025"), ("--threads", "x"), ("--locks", "0"),
                     ("--critical", "0ns"), ("--critical", "5"), ("--other", "-1ns"), ("--other", "5 min"), ("--locks", "a")):
            code, out, err = self.entry("locks", *argv)
            self.assertEqual((code, out), (2, ""), argv)
            self.assertRegex(err, r"^tenter: [^\n]+\n$")
        self.assertRegex(self.entry("lock")[2], "^tenter: [^\n]*nearest: locks[^\n]*\n$")
        self.assertEqual(self.entry(), (2, "", "tenter: model: which? (./tenter model locks)\n"))
        with tempfile.TemporaryDirectory() as scratch:
            (Path(scratch) / "rows.jsonl").write_text("", encoding="utf-8")
            code, _out, err = self.entry("locks", "--threads", "1", "--out", scratch)
            self.assertEqual((code, os.listdir(scratch)), (2, ["rows.jsonl"]))
            self.assertRegex(err, r"results of a run are there[^\n]*\n$")

    def test_figure(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            code, out, err = self.entry("locks", "--threads", "2,3", "--locks", "4", "--out", f"{scratch}/new")
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(out.splitlines()[-1], f"figure {scratch}/new/figures/locks_b6_3.pdf")
            drawn = pd.read_csv(f"{scratch}/new/figures/locks_b6_3.table.csv")
            points = drawn[drawn["series"].eq("constant times")]
            self.assertEqual((list(points["x"]), set(points["n"])), ([1, 2, 3], {6}))
            self.assertAlmostEqual(points["median"].iloc[1], 2.0, delta=0.05)


def measured(workers: int, block: int, locks_: int, critical: float, scheduler: str = "fifo") -> dict[str, Any]:
    """As the lock benchmark will say it: a tenth is lost at two threads and more."""
    loop = Loop(locks_, critical, critical)
    rate = 1e9 * locks.mva(loop, workers).throughput * (0.9 if workers > 1 else 1.0)
    row = synthetic.row(scheduler, workers, block, block, throughput=rate, program="locks", hist=False, noise=0.001,
                        cell=f"{scheduler}-{workers}-{locks_}-{critical}")
    row["params"].update(locks=locks_, critical=critical, other=critical)
    return row


class Figure(unittest.TestCase):
    def draw(self, rows: list[dict[str, Any]]) -> tuple[int, str, Path]:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = synthetic.write(Path(scratch.name) / "results", rows)
        tidy.export(folder)
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = style.script("locks_b6_3", locks_b6_3.draw, ["locks_b6_3", str(folder / "tidy.csv")])
        return code, said.getvalue(), folder / "figures"

    def test_measured_points_beside_both_models(self) -> None:
        code, said, out = self.draw([measured(w, b, 16, c) for b in range(6) for w in (1, 2, 4) for c in (1e4, 1e6)])
        self.assertEqual((code, said), (0, ""))
        self.assertEqual((out / "locks_b6_3.pdf").read_bytes()[:5], b"%PDF-")
        self.assertEqual((out / "locks_b6_3.png").read_bytes()[:4], b"\x89PNG")
        table = pd.read_csv(out / "locks_b6_3.table.csv")
        self.assertEqual(set(table["series"]), {"fibres, 10 µs", "fibres, 1 ms", "probabilistic", "mva"})
        self.assertEqual(table["panel"].nunique(), 1)       # the models know no scale
        self.assertTrue((table["low"] <= table["median"]).all() and (table["median"] <= table["high"]).all())

        def at(series: str, x: int) -> float:
            return float(table[table["series"].eq(series) & table["x"].eq(x)]["median"].iloc[0])
        loop = Loop(16, 1, 1)
        self.assertEqual([x for x in table[table["series"].eq("mva")]["x"]], [1, 2, 3, 4])
        self.assertAlmostEqual(at("mva", 3), locks.utilisation(loop, locks.mva(loop, 3).throughput))
        self.assertAlmostEqual(at("probabilistic", 4), locks.utilisation(loop, locks.throughput(loop, 4)))
        self.assertAlmostEqual(at("fibres, 1 ms", 4), 0.9 * at("mva", 4), delta=0.02)

    def test_a_panel_for_each_number_of_locks(self) -> None:
        code, _said, out = self.draw([measured(w, b, n, 1e4) for b in range(3) for w in (1, 2) for n in (1, 2, 4, 16)])
        self.assertEqual(code, 0)
        table = pd.read_csv(out / "locks_b6_3.table.csv")
        self.assertEqual(table["panel"].nunique(), 4)
        self.assertTrue(all(re.match(r"\d+ locks?, held for 0\.5 of an iteration$", p) for p in set(table["panel"])))

    def test_without_one_thread(self) -> None:
        code, said, _out = self.draw([measured(2, b, 16, 1e4) for b in range(3)])
        self.assertEqual(code, 3)
        self.assertRegex(said, r"^locks_b6_3: no data: no point of one thread in [^\n]+\n$")


if __name__ == "__main__":
    unittest.main()
