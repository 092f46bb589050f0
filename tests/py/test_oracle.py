# SPDX-License-Identifier: MIT
"""dscheck/oracle: the enumerator, on what is known by name or by formula; other models as axioms."""
from __future__ import annotations

import math
import os
import sys
import unittest
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

# pylint: disable=wrong-import-position
from dscheck.oracle import golden  # noqa: E402
from dscheck.oracle.generate import generate  # noqa: E402
from dscheck.oracle.search import (FENCE, RETRY, Body, Execution, Op, Program, TooMany, acquire,  # noqa: E402
                                   acyclic, add, axiomatic, cas, exchange, interleave, load, sc, store,
                                   until)

MOST = 64


def lines(*ops: Op) -> Any:
    def thread() -> Body:
        got = []
        for op in ops:
            got.append((yield op))
        return tuple(got)
    return thread


def count(*threads: Any) -> int:
    return interleave(Program(threads)).executions


SB = lines(store("x", 1), load("y")), lines(store("y", 1), load("x"))
SB_FENCED = lines(store("x", 1), FENCE, load("y")), lines(store("y", 1), FENCE, load("x"))
MP = lines(store("x", 1), store("y", 1)), lines(load("y"), load("x"))
LB = lines(load("x"), store("y", 1)), lines(load("y"), store("x", 1))
IRIW = (lines(store("x", 1)), lines(store("y", 1)), lines(load("x"), load("y")),
        lines(load("y"), load("x")))
TWO_PLUS_TWO_W = lines(store("x", 1), store("y", 2)), lines(store("y", 1), store("x", 2))


class Sequential(unittest.TestCase):
    def test_litmus(self) -> None:
        for threads, executions in ((SB, 3), (SB_FENCED, 3), (MP, 3), (LB, 3), (IRIW, 15),
                                    (TWO_PLUS_TWO_W, 3)):
            self.assertEqual(count(*threads), executions)

    def test_outcomes(self) -> None:
        found = interleave(Program(SB)).outcomes
        self.assertEqual({(a[1], b[1]) for (a, b), _ in found}, {(0, 1), (1, 0), (1, 1)})

    def test_formulas(self) -> None:
        for n in range(1, 6):
            self.assertEqual(count(*[lines(store("x", i)) for i in range(n)]), math.factorial(n))
            self.assertEqual(count(lines(store("x", 1)), *[lines(load("x"))] * n), 2 ** n)
        for n, k in ((2, 1), (2, 2), (2, 3), (3, 2)):
            orders = math.factorial(n * k) // math.factorial(k) ** n
            self.assertEqual(count(*[lines(*[add("x", 1)] * k)] * n), orders)
            self.assertEqual(count(*[lines(*[store("x", 1)] * k)] * n), orders)
            self.assertEqual(count(*[lines(*[acquire("x"), store("x", 0)] * k)] * n), orders)
        # A failed compare-and-exchange is a read: only who comes first, and whether it is seen.
        self.assertEqual(count(*[lines(cas("x", 0, 1))] * 3), 3)

    def test_the_same_value_is_not_the_same_write(self) -> None:
        self.assertEqual(count(lines(store("x", 0)), lines(load("x"))), 2)

    def test_awaits(self) -> None:
        def one(v: int) -> bool:
            return v == 1
        found = interleave(Program((lines(store("x", 1)), lines(until("x", one)))))
        self.assertEqual((found.executions, found.stuck), (1, False))
        found = interleave(Program((lines(store("x", 2)), lines(until("x", one)))))
        self.assertEqual((found.executions, found.stuck), (0, True))
        found = interleave(Program((lines(store("x", 1), store("x", 2)), lines(until("x", one)))))
        self.assertEqual((found.executions, found.stuck), (1, True))

    def test_deadlock(self) -> None:
        def both(first: str, second: str) -> Any:
            return lines(acquire(first), acquire(second), store(second, 0), store(first, 0))
        self.assertTrue(interleave(Program((both("a", "b"), both("b", "a")))).stuck)
        self.assertFalse(interleave(Program((both("a", "b"), both("a", "b")))).stuck)

    def test_an_await_of_several_operations(self) -> None:
        def ttas(free: bool) -> Any:
            def thread() -> Body:
                while True:
                    yield until("lock", lambda v: v == 0)
                    if (yield exchange("lock", 1)) == 0:
                        break
                    yield RETRY
                if free:
                    yield store("lock", 0)
            return thread
        found = interleave(Program((ttas(True), ttas(True))))
        self.assertEqual((found.executions, found.stuck), (4, False))
        self.assertTrue(interleave(Program((ttas(True), ttas(False)))).stuck)

        def either() -> Body:
            while (yield load("x")) == 0 and (yield load("y")) == 0:
                yield RETRY
        found = interleave(Program((either, lines(store("x", 1)), lines(store("y", 1)))))
        self.assertFalse(found.stuck)
        self.assertTrue(interleave(Program((either, lines(store("x", 1), store("x", 0))))).stuck)

    def test_races(self) -> None:
        write, read = store("p", 1, plain=True), load("p", plain=True)
        self.assertTrue(interleave(Program((lines(write), lines(read)))).race)
        self.assertFalse(interleave(Program((lines(read), lines(read)))).race)
        self.assertFalse(interleave(Program((
            lines(acquire("m"), write, store("m", 0)), lines(acquire("m"), read, store("m", 0))))).race)
        self.assertFalse(interleave(Program((
            lines(write, store("x", 1)), lines(until("x", lambda v: v == 1), read)))).race)

    def test_a_limit(self) -> None:
        with self.assertRaises(TooMany):
            interleave(golden.inc(3, 2), limit=1000)


class Golden(unittest.TestCase):
    def test_counts(self) -> None:
        """TENTER_TEST_LONG=1 adds the two that take half a minute."""
        rows = yaml.safe_load((ROOT / "dscheck/golden/counts.yaml").read_text(encoding="utf-8"))
        self.assertGreater(len(rows), 40)
        for row in rows:
            macros = dict(row["macros"])
            long = (row["program"], row["sc"]) in (("msq", 11198), ("lastzero", 704))
            if row["sc"] == "finds" or (long and "TENTER_TEST_LONG" not in os.environ):
                continue
            if "options" in row:
                self.assertEqual(row["options"], ["--retry-as-await"])
                macros["retry"] = True
            with self.subTest(program=row["program"], macros=macros):
                found = interleave(getattr(golden, row["program"])(**macros))
                self.assertEqual(found.executions, row["sc"])
                self.assertFalse(found.stuck or found.race)

    def test_each_program_has_a_count(self) -> None:
        rows = yaml.safe_load((ROOT / "dscheck/golden/counts.yaml").read_text(encoding="utf-8"))
        files = {path.stem for path in (ROOT / "dscheck/golden").glob("*.c")}
        self.assertEqual({row["program"] for row in rows}, files)

    def test_aba_leaves_an_owned_node_on_top(self) -> None:
        last = [dict(memory) for _, memory in interleave(golden.aba()).outcomes]
        self.assertTrue(any(m.get("top") == 2 and m.get("own2") == 1 for m in last))


def tso(x: Execution, ops: list[list[Op]]) -> bool:
    """x86: a read may overtake an earlier write of its thread to another location, unless there is
    a fence or an update between."""
    edges = list(x.edges())
    op = {t * MOST + i: o for t, row in enumerate(ops) for i, o in enumerate(row)}
    coherent, ordered = [], []
    for t, row in enumerate(ops):
        for i, a in enumerate(row):
            for j in range(i + 1, len(row)):
                pair = t * MOST + i, t * MOST + j
                if a.location == row[j].location:
                    coherent.append(pair)
                fenced = any(o is FENCE or (o.accept and o.new) for o in row[i:j + 1])
                if fenced or a.new is None or row[j].accept is None:
                    ordered.append(pair)
    for a_, b_, kind in edges:
        if kind != "po":
            coherent.append((a_, b_))
            if kind != "rf" or a_ // MOST != b_ // MOST:
                ordered.append((a_, b_))
    assert set(op) >= {e for pair in coherent for e in pair}
    return acyclic(coherent) and acyclic(ordered)


class Axioms(unittest.TestCase):
    def test_two_definitions_of_sequential_consistency(self) -> None:
        compared = 0
        for seed in range(80):
            program = generate(seed).program()
            try:
                one, other = interleave(program, 4000), axiomatic(program, sc, 4000)
            except TooMany:
                continue
            compared += 1
            self.assertEqual((one.executions, one.outcomes), (other.executions, other.outcomes), seed)
        self.assertGreater(compared, 40)

    def test_a_model_is_a_predicate(self) -> None:
        def executions(threads: Any) -> int:
            return axiomatic(Program(threads), tso).executions
        self.assertEqual([executions(p) for p in (SB, SB_FENCED, MP, LB, IRIW, TWO_PLUS_TWO_W)],
                         [4, 3, 3, 3, 15, 3])


if __name__ == "__main__":
    unittest.main()
