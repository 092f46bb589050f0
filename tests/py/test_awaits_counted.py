# SPDX-License-Identifier: MIT
"""Loops that wait for more than one location: the explorer against the enumerator, which gives turns in vain up.  No
execution is lost and none comes twice; how many end blocked, and why, is in docs/checking.md, and is held here."""
from __future__ import annotations

import contextlib
import io
import os
import sys
import unittest
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
from checking import ROOT, Checking  # noqa: E402

from dscheck.oracle.compare import Checker, compare  # noqa: E402
from dscheck.oracle.generate import waits  # noqa: E402
from dscheck.oracle.search import (RETRY, Body, Op, Program, acquire, interleave, load, store,  # noqa: E402
                                   until)

HEAD = """
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y, z; static int p; static atomic_flag l;
void __VERIFIER_assume(int);
"""
Thread = tuple[str, Callable[[], Body]]


def does(text: str, *ops: Op) -> Thread:
    def thread() -> Body:
        for op in ops:
            yield op
    return text, thread


def writes(*pairs: tuple[str, int]) -> Thread:
    return does(" ".join(f"{name} = {v};" for name, v in pairs), *(store(name, v) for name, v in pairs))


def turns(text: str, over: Callable[[int, int], bool], both: Callable[[int], bool] = lambda _: True,
          then: tuple[Op, ...] = (), first: tuple[Op, ...] = ()) -> Thread:
    """Reads x, and y where `both` says so of x, until that is enough."""
    def thread() -> Body:
        for op in first:
            yield op
        while True:
            a = yield load("x")
            b = (yield load("y")) if both(a) else 0
            if over(a, b):
                break
            yield RETRY
        for op in then:
            yield op
    return text, thread


def some(v: int) -> bool:
    return v != 0


def none(v: int) -> bool:
    return v == 0


EITHER = turns("while (!x && !y) ;", lambda a, b: a != 0 or b != 0, none)
BOTH = turns("while (!x || !y) ;", lambda a, b: a != 0 and b != 0, some)
# What they compare is in no register while they wait: else each turn with another value would be work.
EQUAL = turns("for (;;) switch (x) { case 0: if (y == 0) return arg; break; case 1: if (y == 1) return arg; break; }",
              lambda a, b: a == b, lambda a: a < 2)
THREE = turns("for (;;) switch (x) { case 1: if (y == 2) return arg; break; case 2: if (y == 1) return arg; break; }",
              lambda a, b: a + b == 3, some)
#: Threads; how many executions end blocked.
PROGRAMS: dict[str, tuple[tuple[Thread, ...], int]] = {
    "either, and both are written": ((EITHER, writes(("x", 1)), writes(("y", 1))), 0),
    "either, taken back": ((EITHER, writes(("y", 1), ("y", 0), ("x", 1)), writes(("x", 2))), 2),
    "both, taken back": ((BOTH, writes(("x", 1), ("x", 0), ("x", 1)), writes(("y", 1), ("y", 0), ("y", 1))), 0),
    "slept twice": ((THREE, writes(("x", 1), ("x", 2)), writes(("y", 2), ("y", 1))), 1),
    "over before, and again": ((EQUAL, writes(("x", 1)), writes(("y", 1))), 1),
    "two who wait alike": ((BOTH, BOTH, writes(("x", 1)), writes(("y", 1))), 0),
    "who sleeps is woken by who slept": ((
        turns("while (!x && !y) ; z = 1;", lambda a, b: a != 0 or b != 0, none, (store("z", 1),)),
        does("while (!z) ; y = 2;", until("z", some), store("y", 2)), writes(("x", 1))), 1),
    "a read before it": ((
        turns("atomic_load(&z); while (!x || !y) ;", lambda a, b: a != 0 and b != 0, some, first=(load("z"),)),
        writes(("z", 1), ("x", 1)), writes(("y", 1), ("z", 2))), 0),
    "what it leads to is read before": ((
        turns("while (!x || !y) ; z = 1;", lambda a, b: a != 0 and b != 0, some, (store("z", 1),)),
        does("x = 1; atomic_load(&z); x = 2;", store("x", 1), load("z"), store("x", 2)),
        does("atomic_load(&z); y = 1;", load("z"), store("y", 1))), 0),
    "plain memory in vain": ((
        turns("while ((x == 1 && p) || !y) ;", lambda a, b: b != 0), writes(("x", 1), ("x", 2)), writes(("y", 1))), 0),
    "a lock is held": ((
        turns("while (atomic_flag_test_and_set(&l)) ; while (!x || !y) ; atomic_flag_clear(&l);",
              lambda a, b: a != 0 and b != 0, some, (store("l", 0),), (acquire("l"),)),
        does("x = 1; while (atomic_flag_test_and_set(&l)) ; x = 2; atomic_flag_clear(&l);",
             store("x", 1), acquire("l"), store("x", 2), store("l", 0)), writes(("y", 1))), 0),
    "assumed afterwards": ((
        turns("while (!x && !y) ; __VERIFIER_assume(z);", lambda a, b: a != 0 or b != 0, none, (until("z", some),)),
        writes(("x", 1), ("z", 1)), writes(("y", 1))), 0),
}


def program(threads: tuple[Thread, ...]) -> str:
    out = [HEAD]
    out += [f"static void *f{i}(void *arg) {{ {text} return arg; }}" for i, (text, _) in enumerate(threads)]
    starts = "".join(f"pthread_create(&t[{i}], 0, f{i}, 0); " for i in range(len(threads)))
    joins = "".join(f"pthread_join(t[{i}], 0); " for i in range(len(threads)))
    return "\n".join([*out, f"int main(void) {{ pthread_t t[{len(threads)}]; {starts}{joins}return 0; }}"])


class Counted(Checking):
    def test_each(self) -> None:
        for name, (threads, blocked) in PROGRAMS.items():
            with self.subTest(name):
                found = interleave(Program(tuple(body for _, body in threads)))
                self.assertFalse(found.stuck)
                code, answer, out = self.run_check(self.program(program(threads), head=""))
                self.assertEqual((code, answer["executions"]), (0, found.executions), out)
                self.assertLessEqual(answer["blocked"], blocked)

    def test_styles(self) -> None:
        """What tests/check says of them is one word."""
        for name, executions, blocked in (("either", 6, 0), ("twice", 4, 0), ("ring", 9, 2)):
            with self.subTest(name):
                answer = self.run_check(str(ROOT / "tests" / "check" / f"{name}.c"))[1]
                self.assertEqual(answer["executions"], executions)
                self.assertLessEqual(answer["blocked"], blocked)

    def test_a_later_loop(self) -> None:
        """An old value leads out of one loop, and for ever into the next: that is no turn of the first one."""
        file = self.program("""
            #include <pthread.h>
            #include <stdatomic.h>
            static atomic_int x, y;
            static void *f0(void *arg) { atomic_load(&y); x = 1; x = 2; return arg; }
            static void *f1(void *arg) { int a; while ((a = x) == 0) ; if (a == 1) while (y == 0) ; return arg; }
            int main(void) { pthread_t t[2]; pthread_create(&t[0], 0, f0, 0); pthread_create(&t[1], 0, f1, 0);
                pthread_join(t[0], 0); pthread_join(t[1], 0); return 0; }""", head="")
        code, answer, out = self.run_check(file)
        self.assertEqual((code, answer["kind"]), (1, "livelock"), out)

    def test_by_chance(self) -> None:
        """TENTER_TEST_LONG=1: a thousand that wait, and more."""
        count, out = 1500 if "TENTER_TEST_LONG" in os.environ else 25, io.StringIO()
        with contextlib.redirect_stdout(out):
            agree, differ, large = compare(range(count), 20000, Checker(), None, waits)
        self.assertEqual((differ, agree + large), (0, count), out.getvalue())
        self.assertGreater(agree, count * 0.9)


if __name__ == "__main__":
    unittest.main()
