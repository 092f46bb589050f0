# SPDX-License-Identifier: MIT
"""dscheck/oracle: random programs, as C and to the enumerator; how differences are found."""
from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

# pylint: disable=wrong-import-position
from dscheck.oracle.compare import (Checker, NoChecker, compare, difference, main,  # noqa: E402
                                    smallest, text_of)
from dscheck.oracle.generate import generate, waits  # noqa: E402
from dscheck.oracle.program import Location, Load, Source, Store, Value  # noqa: E402
from dscheck.oracle.search import TooMany, interleave  # noqa: E402
from experiments.runner import check_build  # noqa: E402

X, Y = Location("x", "int", "atomic"), Location("y", "int", "operator")
SB = Source((X, Y), ((Store(X, Value(1), "relaxed"), Load(0, Y, "relaxed")),
                     (Store(Y, Value(1), "relaxed"), Load(0, X, "relaxed"))), False, False)


class Fake(Checker):
    """Says what the enumerator says, but for one mistake."""

    def __init__(self, mistake: str = ""):
        super().__init__()
        object.__setattr__(self, "mistake", mistake)

    def available(self) -> bool:
        return True

    def verdict(self, text: str, *flags: str) -> dict[str, Any]:
        mistake: str = getattr(self, "mistake")
        if flags:
            return {"verdict": "ok" if mistake == "outcome" else "bug", "kind": "assertion"}
        words = text.split("*/")[0]
        for what, kind in (("a race", "data race"), ("stuck", "deadlock")):
            if what in words:
                return {"verdict": "ok" if mistake == kind else "bug", "kind": kind}
        n = int(words.split(":")[1].split()[0])
        wrong = mistake == "count" and "= 1;" in text.split("main")[0]
        return {"verdict": "ok", "executions": n + wrong, "blocked": int(mistake == "blocked")}


class Programs(unittest.TestCase):
    def test_a_seed_is_a_program(self) -> None:
        for seed in range(20):
            self.assertEqual(generate(seed), generate(seed))
        self.assertEqual(len({repr(generate(seed)) for seed in range(200)}), 200)

    def test_most_of_the_others_wait(self) -> None:
        self.assertEqual(waits(1), waits(1))
        self.assertGreater(sum(waits(seed).awaits() for seed in range(100)), 60)
        self.assertIn(" && ", "".join(waits(seed).c([], "") for seed in range(20)))

    def test_they_have_everything(self) -> None:
        text = "".join(generate(seed).c([], "") for seed in range(200))
        for word in ("atomic_load(", "atomic_load_explicit", "__atomic_load_n", "__atomic_exchange_n",
                     "__atomic_compare_exchange_n", "compare_exchange_weak", "compare_exchange_strong",
                     "atomic_fetch_xor", " += ", " |= ", "atomic_thread_fence", "memory_order_acq_rel",
                     "pthread_mutex_t", "mtx_t", "spin_lock", "ttas_lock", "thrd_create", "if (r",
                     "signed char", "long long", "static volatile int p ", "thread0(NULL);", "    while ("):
            self.assertIn(word, text)

    def test_the_c_file_says_the_same(self) -> None:
        """Natively: it compiles without a warning, and no outcome is unknown."""
        with tempfile.TemporaryDirectory() as folder:
            path, exe = Path(folder) / "p.c", str(Path(folder) / "p")
            ran = 0
            for seed in range(40):
                source = generate(seed)
                try:
                    found = interleave(source.program(), 4000)
                except TooMany:
                    continue
                path.write_text(text_of(source, found, "test"), encoding="utf-8")
                subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-Wall", "-Wextra", "-Werror", "-O1",
                                str(path), "-o", exe, "-pthread"], check=True)
                if found.stuck or found.race:
                    continue
                ran += 1
                for _ in range(3):
                    subprocess.run([exe], check=True, timeout=60)
            self.assertGreater(ran, 20)


class Comparing(unittest.TestCase):
    def compared(self, checker: Checker, seeds: range = range(12)) -> tuple[tuple[int, int, int], str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            counts = compare(seeds, 3000, checker, None)
        return counts, out.getvalue()

    def test_who_agrees_agrees(self) -> None:
        (agree, differ, large), text = self.compared(Fake(), range(60))
        self.assertEqual((differ, text), (0, ""))
        self.assertEqual(agree + large, 60)

    def test_each_mistake_is_seen(self) -> None:
        for mistake in ("outcome", "blocked", "count"):
            self.assertGreater(self.compared(Fake(mistake))[0][1], 0, mistake)
        for mistake in ("data race", "deadlock"):
            self.assertGreater(self.compared(Fake(mistake), range(60))[0][1], 0, mistake)

    def test_it_is_made_smaller(self) -> None:
        wide = replace(SB, threads=SB.threads + (SB.threads[0] * 2,), main_runs_first=True)

        def differs(source: Source) -> bool:
            return difference(source, interleave(source.program()), Fake("count"), 0) is not None
        # "= 1;" comes from `y = (int)(1);` being written with an operator
        least = smallest(replace(wide, locations=(X, replace(Y, initial=1))), differs)
        self.assertEqual(len(least.threads), 2)
        self.assertEqual(sum(map(len, least.threads)), 0)
        self.assertFalse(least.main_runs_first)

    def test_without_a_checker_it_says_so(self) -> None:
        with self.assertRaisesRegex(NoChecker, "nothing was compared"):
            compare(range(1), 100, Checker(command=("false",)), None)

    def test_the_checker_of_this_tree(self) -> None:
        """TENTER_TEST_LONG=1, as with `./tenter test --all`: a thousand programs."""
        if not Checker().available():
            self.skipTest("there is no './tenter check' here yet")
        check_build.checker()           # not within the seconds that the first program may take
        count, out = 1000 if "TENTER_TEST_LONG" in os.environ else 15, io.StringIO()
        with contextlib.redirect_stdout(out):
            code = main(["--count", str(count), "--steps", "5000"])
        self.assertEqual(code, 0, out.getvalue())
        self.assertGreater(int(out.getvalue().split(" agree")[0]), count // 2)


if __name__ == "__main__":
    unittest.main()
