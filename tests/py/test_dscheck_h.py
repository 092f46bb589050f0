# SPDX-License-Identifier: MIT
"""dscheck.h: what a program can say to the checker, and what it is without one."""
from __future__ import annotations

import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
from checking import ROOT, Checking  # noqa: E402

#: An account moved between two places; the invariant looks at both, which no thread does at once.
MOVES = """#include <dscheck.h>
#include <assert.h>
#include <stdatomic.h>
static atomic_int from, to;
static void fill(void) { atomic_store(&from, 10); }
static void move(void) { atomic_fetch_sub(&from, 1); atomic_fetch_add(&to, 1); }
static bool none_made(void) { int f = atomic_load(&from), t = atomic_load(&to); return f + t <= 10 && f + t >= LEAST; }
static void end(void) { assert(atomic_load(&from) == 8 && atomic_load(&to) == 2); atomic_store(&from, 99); }
DSCHECK_MAIN(.set_up = fill, .threads = {move, move}, .invariant = none_made, .final = end)
"""

#: Two stores that nothing orders: one execution graph, which passes through either state between them.
APART = """#include <dscheck.h>
#include <stdatomic.h>
static atomic_int x, y;
static void a(void) { atomic_store(&x, 1); }
static void b(void) { atomic_store(&y, 1); }
static bool x_first(void) { return atomic_load(&x) >= atomic_load(&y); }
static bool y_first(void) { return atomic_load(&x) <= atomic_load(&y); }
static bool either(void) { return atomic_load(&x) + atomic_load(&y) <= 2; }
DSCHECK_MAIN(.threads = {a, b}, .invariant = WHICH)
"""

CHOICES = """#include <dscheck.h>
#include <assert.h>
#include <stdatomic.h>
static atomic_int x;
static void a(void) { int n = dscheck_choose(3); assert(n >= 0 && n < 3); dscheck_assume(n != 1);
    atomic_fetch_add(&x, n); }
static void end(void) { assert(atomic_load(&x) % 2 == 0); }
DSCHECK_MAIN(.threads = {a, a}, .final = end)
"""

# The thread that assumes comes first, and reads 0: the failure needs what the other one writes only then.
LATER = """#include <dscheck.h>
#include <assert.h>
#include <stdatomic.h>
static atomic_int x, y;
static void a(void) { if (atomic_load(&x) == 1) { dscheck_assume(atomic_load(&y) == LEAST); assert(0); } }
static void b(void) { atomic_store(&x, 1); atomic_store(&y, 1); }
DSCHECK_MAIN(.threads = {a, b})
"""


class Header(Checking):
    def test_invariant(self) -> None:
        file = self.program(MOVES, head="")
        code, answer, _ = self.run_check(file, "--", "-DLEAST=8")
        self.assertEqual((code, answer["verdict"], answer["executions"]), (0, "ok", 4))
        for options in ([], ["--bound", "2"], ["--jobs", "2"]):
            code, answer, out = self.run_check(file, *options, "--", "-DLEAST=9")
            self.assertEqual((code, answer["kind"]), (1, "invariant"), options)
            self.assertIn("p.c:7", answer["message"])
            self.assertEqual([s["op"] for s in answer["trace"]][-2:], ["fetch-sub", "fetch-sub"])
        code, again, _ = self.run_check(file, "--replay", str(self.at / "a.replay"), "--", "-DLEAST=9")
        self.assertEqual((code, again["message"]), (1, answer["message"]))

    def test_every_state_of_one_graph(self) -> None:
        file = self.program(APART, head="")
        for which, last in (("x_first", "y"), ("y_first", "x")):
            code, answer, _ = self.run_check(file, "--", f"-DWHICH={which}")
            self.assertEqual((code, answer["kind"], answer["trace"][-1]["location"]), (1, "invariant", last))
        self.assertEqual(self.run_check(file, "--", "-DWHICH=either")[0], 0)

    def test_invariants_only_read(self) -> None:
        for body in ("x = 1; return true;", "return ++x > 0;", "static pthread_mutex_t m; pthread_mutex_lock(&m); return x == 0;"):
            code, answer, _ = self.run_check(self.program("#include <dscheck.h>\nstatic atomic_int x; static bool holds(void) {"
                                                          + body + "} int main(void) { dscheck_invariant(holds); return 0; }"))
            self.assertEqual((code, answer["kind"]), (1, "misuse"), body)

    def test_choices(self) -> None:
        code, answer, _ = self.run_check(self.program(CHOICES, head=""))
        # of nine pairs four are of interest: both orders where both add something, or nothing, each
        self.assertEqual((code, answer["executions"], answer["blocked"]), (0, 8, 0))

    def test_an_assumption_stops_one_thread(self) -> None:
        file = self.program(LATER, head="")
        for options in ([], ["--bound", "2"], ["--strategy", "random", "--budget", "100"], ["--jobs", "2"]):
            code, answer, out = self.run_check(file, *options, "--", "-DLEAST=1")
            self.assertEqual((code, answer["kind"]), (1, "assertion"), out)
            code, again, _ = self.run_check(file, "--replay", str(self.at / "a.replay"), "--", "-DLEAST=1")
            self.assertEqual((code, again["message"]), (1, answer["message"]))
        code, answer, _ = self.run_check(file, "--", "-DLEAST=2")
        self.assertEqual((code, answer["executions"], answer["blocked"]), (0, 1, 0))

    def test_without_the_checker(self) -> None:
        for compiler in ("gcc", "clang"):
            if shutil.which(compiler) is None:
                continue
            for name, text, flags in (("moves", MOVES, ["-DLEAST=8"]), ("apart", APART, ["-DWHICH=either", "-Wno-unused-function"]),
                                      ("choices", CHOICES, [])):
                file = self.program(text, f"{name}.c", head="")
                exe = str(self.at / name)
                subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror",
                                *flags, f"-I{ROOT}/dscheck/include", file, "-o", exe, "-pthread"], check=True)
                for _ in range(10):
                    self.assertEqual(subprocess.run([exe], check=False).returncode, 0)


if __name__ == "__main__":
    unittest.main()
