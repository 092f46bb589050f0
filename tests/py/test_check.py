# SPDX-License-Identifier: MIT
"""The explorer through its verb: golden counts, one small program for each kind of bug, replay, shards, refusals."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
from checking import Checking, check  # noqa: E402

from experiments.runner import check_build, check_explore  # noqa: E402
from experiments.runner import check_report as report  # noqa: E402
from experiments.runner.errors import Stop  # noqa: E402

LOCKED = """
static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER, m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
"""

#: name -> (program, kind, or None where it is right)
PROGRAMS: dict[str, tuple[str, str | None]] = {
    "race": ("static int x; static void *a(void *p) { x++; return p; } int main(void) { go(a, a); return 0; }", "data race"),
    "no-race": (LOCKED + """static int x; static void *a(void *p) { pthread_mutex_lock(&l); x++; pthread_mutex_unlock(&l);
        return p; } int main(void) { go(a, a); assert(x == 2); return 0; }""", None),
    "published": ("""static int x; static atomic_int y; static void *a(void *p) { x = 1; atomic_store(&y, 1); return p; }
        static void *b(void *p) { if (atomic_load(&y)) assert(x == 1); return p; } int main(void) { go(a, b); return 0; }""",
                  None),
    "abba": (LOCKED + """static void *a(void *p) { pthread_mutex_lock(&l); pthread_mutex_lock(&m); pthread_mutex_unlock(&m);
        pthread_mutex_unlock(&l); return p; } static void *b(void *p) { pthread_mutex_lock(&m); pthread_mutex_lock(&l);
        pthread_mutex_unlock(&l); pthread_mutex_unlock(&m); return p; } int main(void) { go(a, b); return 0; }""", "deadlock"),
    "lost": (LOCKED + """static atomic_int done; static void *a(void *p) { pthread_mutex_lock(&l);
        if (!done) pthread_cond_wait(&c, &l); pthread_mutex_unlock(&l); return p; }
        static void *b(void *p) { done = 1; pthread_cond_signal(&c); return p; } int main(void) { go(a, b); return 0; }""",
             "lost wake-up"),
    "lost-by-all": (LOCKED + """static atomic_int done; static void *a(void *p) { pthread_mutex_lock(&l);
        if (!done) pthread_cond_wait(&c, &l); pthread_mutex_unlock(&l); return p; }
        static void *b(void *p) { done = 1; pthread_cond_broadcast(&c); return p; } int main(void) { go(a, b); return 0; }""",
                    "lost wake-up"),
    "never-signalled": (LOCKED + """static void *a(void *p) { pthread_mutex_lock(&l); pthread_cond_wait(&c, &l);
        pthread_mutex_unlock(&l); return p; } static void *b(void *p) { pthread_mutex_lock(&l); pthread_mutex_unlock(&l);
        return p; } int main(void) { go(a, b); return 0; }""", "deadlock"),
    "once-by-itself": (LOCKED + """static pthread_once_t o = PTHREAD_ONCE_INIT; static int r; static void i(void) { pthread_once(&o, i); }
        static void *a(void *p) { pthread_mutex_lock(&l); while (!r) pthread_cond_wait(&c, &l); pthread_mutex_unlock(&l);
        pthread_cond_signal(&c); pthread_once(&o, i); return p; } static void *b(void *p) { pthread_mutex_lock(&l); r = 1;
        pthread_cond_signal(&c); pthread_mutex_unlock(&l); return p; } int main(void) { go(a, b); return 0; }""", "deadlock"),
    "once-waits": ("""static pthread_once_t o = PTHREAD_ONCE_INIT; static atomic_int x; static void i(void) { while (x == 1) ; }
        static void *a(void *p) { pthread_once(&o, i); return p; } static void *b(void *p) { x = 1; x = 3; pthread_once(&o, i);
        return p; } int main(void) { go(a, b); return 0; }""", None),
    "not-lost": (LOCKED + """static int done; static void *a(void *p) { pthread_mutex_lock(&l);
        while (!done) pthread_cond_wait(&c, &l); pthread_mutex_unlock(&l); return p; }
        static void *b(void *p) { pthread_mutex_lock(&l); done = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&l);
        return p; } int main(void) { go(a, b); return 0; }""", None),
    "livelock": ("""static atomic_int x; static void *a(void *p) { atomic_store(&x, 1); atomic_store(&x, 2); return p; }
        static void *b(void *p) { while (atomic_load(&x) != 1) ; return p; } int main(void) { go(a, b); return 0; }""",
                 "livelock"),
    "counter": ("""static atomic_int x; static void *a(void *p) { atomic_store(&x, 1); return p; } static int n;
        static void *b(void *p) { while (atomic_load(&x) != 1) n++; return p; } int main(void) { go(b, a); return 0; }""",
                "unbounded loop"),
    "after-free": ("""static int *_Atomic q; static void *a(void *p) { int *mine = atomic_exchange(&q, NULL);
        if (mine) free(mine); return p; } static void *b(void *p) { int *his = atomic_load(&q); if (his) *his = 1; return p; }
        int main(void) { q = malloc(4); go(a, b); return 0; }""", "heap|data race"),
    "double-free": ("""static int *_Atomic q; static void *a(void *p) { free(atomic_load(&q)); return p; }
        int main(void) { q = malloc(4); go(a, a); return 0; }""", "double free|data race"),
    "free-stack": ("""static atomic_int x; static void *a(void *p) { int s = x++; int *volatile q = &s; free(q); return p; }
        int main(void) { go(a, a); return 0; }""", "invalid free"),
    "free-middle": ("""static atomic_int x; static void *a(void *p) { char *volatile s = malloc(4); x++; free(s + 2); return p; }
        int main(void) { go(a, a); return 0; }""", "invalid free"),
    "free-start": ("""static atomic_int x; static void *a(void *p) { char *volatile s = malloc(4); s += 2; x++; free(s - 2); return p; }
        int main(void) { go(a, a); return 0; }""", None),
    "error-1": ("""void __VERIFIER_error(void); static atomic_int x; static void *a(void *p) { if (x++) __VERIFIER_error(); return p; }
        int main(void) { go(a, a); return 0; }""", "assertion"),
    "error-2": ("""void reach_error(void); static atomic_int x; static void *a(void *p) { if (x++) reach_error(); return p; }
        int main(void) { go(a, a); return 0; }""", "assertion"),
    "error-3": ("""void __VERIFIER_assert_fail(void); static atomic_int x; static void *a(void *p) { if (x++) __VERIFIER_assert_fail();
        return p; } int main(void) { go(a, a); return 0; }""", "assertion"),
    "no-error": ("""void reach_error(void); static atomic_int x; static void *a(void *p) { if (x++ > 1) reach_error(); return p; }
        int main(void) { go(a, a); return 0; }""", None),
    "bounds": ("""static void *a(void *p) { char *s = malloc(4); s[4] = 0; free(s); return p; }
        int main(void) { go(a, a); return 0; }""", "heap"),
    "unwritten": ("""static atomic_int x; static void *a(void *p) { int *s = malloc(8); x += s[1]; free(s); return p; }
        int main(void) { go(a, a); return 0; }""", "heap"),
    "leak": ("""static atomic_int x; static void *a(void *p) { x++; int *s = malloc(8); *s = 1; return p; }
        int main(void) { go(a, a); return 0; }""", "leak"),
    "crash": ("""static int *_Atomic q; static int x; static void *a(void *p) { atomic_store(&q, &x); return p; }
        static void *b(void *p) { *(volatile int *)atomic_load(&q); return p; } int main(void) { go(a, b); return 0; }""",
              "heap|crash"),
    "unlock": (LOCKED + """static void *a(void *p) { pthread_mutex_unlock(&l); return p; } int main(void) { go(a, a);
        return 0; }""", "misuse"),
    "join-twice": ("""static void *a(void *p) { return p; } int main(void) { go(a, a); pthread_join(t[0], 0); return 0; }""",
                   "misuse"),
    "barrier": ("""static pthread_barrier_t b; static atomic_int x; static void *a(void *p) { x++; pthread_barrier_wait(&b);
        assert(x == 2); return p; } int main(void) { pthread_barrier_init(&b, 0, 2); go(a, a); pthread_barrier_destroy(&b);
        return 0; }""", None),
    "rwlock": ("""static pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER; static int x; static void *a(void *p) {
        pthread_rwlock_wrlock(&r); x++; pthread_rwlock_unlock(&r); return p; } static void *b(void *p) {
        pthread_rwlock_rdlock(&r); int y = x; assert(x == y); pthread_rwlock_unlock(&r); return p; }
        int main(void) { go(a, b); return 0; }""", None),
    "once": ("""static pthread_once_t o = PTHREAD_ONCE_INIT; static int x; static void f(void) { x++; }
        static void *a(void *p) { pthread_once(&o, f); assert(x == 1); return p; } int main(void) { go(a, a); return 0; }""",
             None),
    "keys": ("""static pthread_key_t k; static atomic_int n; static void d(void *p) { n += *(int *)p; free(p); }
        static void *a(void *p) { int *v = malloc(4); *v = 1; pthread_setspecific(k, v); assert(pthread_getspecific(k) == v);
        return p; } int main(void) { pthread_key_create(&k, d); go(a, a); assert(n == 2); return 0; }""", None),
    "tls": ("""static _Thread_local int mine = 7; static atomic_int x; static void *a(void *p) { assert(mine == 7);
        mine++; x++; assert(mine == 8); return p; } int main(void) { go(a, a); return 0; }""", None),
    "c11": ("""static mtx_t q; static int x; static int a(void *p) { mtx_lock(&q); x++; mtx_unlock(&q); return p == 0; }
        int main(void) { thrd_t s[2]; int r; mtx_init(&q, mtx_plain); for (int i = 0; i < 2; i++) thrd_create(&s[i], a, 0);
        for (int i = 0; i < 2; i++) { thrd_join(s[i], &r); assert(r == 1); } mtx_destroy(&q); assert(x == 2); return 0; }""",
            None),
}

#: file, flags: executions that end blocked, with --retry-as-await
BLOCKED = {("treiber", "-DN=2"): 10, ("msq", "-DNP=1 -DNC=1"): 1, ("msq", "-DNP=2 -DNC=1"): 30, ("msq", "-DNP=1 -DNC=2"): 20,
           ("msq", "-DNP=2 -DNC=2"): 480}


class Check(Checking):
    def test_kinds(self) -> None:
        for name, (text, kind) in PROGRAMS.items():
            with self.subTest(name):
                code, answer, out = self.run_check(self.program(text, name + ".c"))
                if kind is None:
                    self.assertEqual((code, answer["verdict"], answer["kind"], answer["blocked"]), (0, "ok", None, 0), out)
                else:
                    self.assertEqual((code, answer["verdict"]), (1, "bug"), out)
                    self.assertIn(answer["kind"], kind.split("|"), out)
                    self.assertTrue(answer["message"].startswith(answer["kind"] + ": "), out)
                    self.assertIn(name + ".c:", out)

    def test_golden(self) -> None:
        """All rows, with the orders that they name, and with every order seq_cst."""
        folder = check.ROOT / "dscheck" / "golden"
        rows = yaml.safe_load((folder / "counts.yaml").read_text(encoding="utf-8"))
        self.assertGreater(len(rows), 40)
        todo: list[tuple[dict[str, Any], Path, list[str]]] = []
        for row in rows:
            file = folder / f"{row['program']}.c"
            flags = [f"-D{name}={value}" for name, value in row["macros"].items()]
            names_orders = re.search(r"\b(RLX|ACQ|REL|AR|CAS)\b", file.read_text(encoding="utf-8"))
            todo += [(row, file, [*flags, *more]) for more in ([], ["-DSCONLY"]) if not more or names_orders]
        self.assertGreater(len(todo), 70)

        def explored(which: tuple[dict[str, Any], Path, list[str]]) -> report.Answer:
            row, file, flags = which
            return check_explore.explore([file], flags, check.parser().parse_args([str(file), *row.get("options", [])]))

        check_build.checker()
        with ThreadPoolExecutor(os.cpu_count()) as several:
            for (row, file, flags), answer in zip(todo, several.map(explored, todo)):
                with self.subTest(row["program"], flags=flags, options=row.get("options")):
                    if row["sc"] == "finds":
                        self.assertEqual(answer.verdict, "bug")
                        continue
                    # docs/checking.md says why these few have any.
                    macros = " ".join(flag for flag in flags if flag != "-DSCONLY")
                    blocked = BLOCKED.get((row["program"], macros), 0) if "options" in row else 0
                    self.assertEqual((answer.verdict, answer.number("executions"), answer.number("blocked")),
                                     ("ok", row["sc"], blocked), answer.message)

    def test_fewest_preemptions(self) -> None:
        """An update is lost only if its thread is preempted in it; who comes first needs no preemption."""
        text = """static atomic_int x; static void *a(void *p) { int v = x; x = v + 1; return p; }
            int main(void) { go(a, a); assert(x == 2); return 0; }"""
        _, answer, out = self.run_check(self.program(text))
        self.assertEqual((answer["kind"], answer["preemptions"]), ("assertion", 1), out)
        self.assertIn(", 1 preemption: fewer do not fail", out)
        _, answer, out = self.run_check(self.program(text.replace("x == 2", "x == 3")))
        self.assertEqual((answer["kind"], answer["preemptions"]), ("assertion", 0), out)
        self.assertIn(", no preemptions;", out)
        self.assertNotIn("fewer do not fail", out)

    def test_nothing_instrumented(self) -> None:
        """Flags cannot turn it off, so the object is made apart: what a compiler that ignores them would make."""
        file, made = self.program(PROGRAMS["no-race"][0]), self.at / "p.o"
        subprocess.run(["gcc", "-c", file, "-o", str(made)], check=True)
        with self.assertRaises(Stop) as refused:
            check_build._hold(made, Path(file), check_build.symbols(), set(),  # pylint: disable=protected-access
                              check_build.checker())
        self.assertEqual(refused.exception.code, 77)
        self.assertIn("p.c: the compiler has instrumented nothing in it", str(refused.exception))

    def test_replay(self) -> None:
        file = self.program(PROGRAMS["abba"][0])
        self.run_check(file)
        for _ in range(3):
            code, answer, _ = self.run_check(file, "--replay", str(self.at / "a.replay"))
            self.assertEqual((code, answer["message"].split(":")[0]), (1, "deadlock"))

    def test_jobs_and_shards(self) -> None:
        text = """static atomic_int x; static void *a(void *p) { for (int i = 0; i < 3; i++) { int v = x; x = v + 1; }
            return p; } int main(void) { go(a, a); return 0; }"""
        file = self.program(text)
        whole = self.run_check(file)[1]["executions"]
        self.assertEqual(self.run_check(file, "--jobs", "2")[1]["executions"], whole)
        parts = [self.run_check(file, "--shard", f"{i}/3")[1]["executions"] for i in range(1, 4)]
        self.assertEqual(sum(parts), whole)
        self.assertGreater(min(parts), 0)
        for wrong in ("0/3", "4/3", "1", "x/3"):    # a part that is none would find nothing wrong
            with self.assertRaises(Stop):
                self.run_check(file, "--shard", wrong)

    def test_branches(self) -> None:
        weak = """static atomic_int x; static void *a(void *p) { int e = 0; if (atomic_compare_exchange_weak(&x, &e, 1))
            return p; assert(e != 0); return p; } int main(void) { go(a, a); return 0; }"""
        fails = """static void *a(void *p) { int *q = malloc(4); assert(q); free(q); return p; } int main(void) { go(a, a);
            return 0; }"""
        wakes = LOCKED + """static int done; static void *a(void *p) { pthread_mutex_lock(&l);
            if (!done) { pthread_cond_wait(&c, &l); assert(done); } pthread_mutex_unlock(&l); return p; }
            static void *b(void *p) { pthread_mutex_lock(&l); done = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&l);
            return p; } int main(void) { go(a, b); return 0; }"""
        reuse = """static int *_Atomic seen; static atomic_int same; static void *a(void *p) { int *q = malloc(4); free(q);
            int *r = malloc(4); if (q == r) same = 1; free(r); return p; }
            int main(void) { go(a, a); assert(!same); return 0; }"""
        for text, option in ((weak, ["--spurious-cas"]), (fails, ["--malloc-fail"]), (wakes, ["--spurious-wake"])):
            file = self.program(text)
            self.assertEqual(self.run_check(file)[0], 0, option)
            self.assertEqual(self.run_check(file, *option)[0], 1, option)
        right = self.program(wakes.replace("if (!done)", "while (!done)").replace("assert(done); }", "}"))
        self.assertEqual(self.run_check(right, "--spurious-wake")[0], 0, "it waits in a loop, as it must")
        file = self.program(reuse)
        self.assertEqual((self.run_check(file, "--reuse", "off")[0], self.run_check(file)[0]), (0, 1))

    def test_retry_as_await(self) -> None:
        text = """static atomic_int x; static void *a(void *p) { int v = x; while (!atomic_compare_exchange_strong(&x, &v, v + 1))
            ; return p; } int main(void) { go(a, a); assert(x == 2); return 0; }"""
        file = self.program(text)
        whole, fewer = self.run_check(file)[1], self.run_check(file, "--retry-as-await")[1]
        self.assertEqual(fewer["verdict"], "ok")
        self.assertLess(fewer["executions"], whole["executions"])
        # A loop of one read a turn is no retry: nothing in a turn says that it was in vain.
        file = self.program("""static atomic_int x; static void *a(void *p) { x = 1; return p; } static void *b(void *p) {
            for (int i = 0; i < 3; i++) (void)atomic_load(&x); return p; } int main(void) { go(a, b); return 0; }""")
        answer = self.run_check(file, "--retry-as-await")[1]
        self.assertEqual((answer["executions"], answer["blocked"]), (4, 0))

    def test_bounds_are_named(self) -> None:
        file = self.program(PROGRAMS["lost"][0])
        for options in (["--bound", "1"], ["--strategy", "random", "--budget", "2000"],
                        ["--strategy", "pct", "--budget", "2000"]):
            code, answer, _ = self.run_check(file, *options)
            self.assertEqual(code, 1, options)
            self.assertTrue(answer["bound"], options)
        file = self.program(PROGRAMS["no-race"][0])
        code, answer, out = self.run_check(file, "--bound", "1")
        self.assertEqual((code, answer["verdict"], answer["bound"]), (3, "incomplete", "at most 1 preemption"))
        self.assertIn("nothing wrong found", out)
        self.assertIn("no proof", out)
        self.assertEqual(self.run_check(file, "--budget", "1")[0], 3)

    def test_refusals(self) -> None:
        right = PROGRAMS["no-race"][0]
        for text, flags, word in ((right.replace("x++;", 'x++; __asm__ volatile("lock; incl %0" : "+m"(x));'), [], "assembly"),
                                  (right.replace("x++;", "x++; extern int unknown_(void); unknown_();"), [], "unknown_")):
            code, answer, _ = self.run_check(self.program(text), "--", *flags)
            self.assertEqual((code, answer["verdict"]), (77, "unsupported"))
            self.assertIn(word, answer["message"])
        self.assertEqual(self.run_check(self.program(right), "--", "-fno-sanitize=thread", "-O3")[0], 0)    # our flags come last
        code, answer, _ = self.run_check(self.program(right), "--", "-flto=auto", "-O3")
        self.assertEqual((code, answer["verdict"]), (77, "unsupported"))
        self.assertIn("leave -flto=auto out", answer["message"])
        with self.assertRaises(Stop):
            self.run_check(self.program("nonsense"))

    def test_warnings(self) -> None:
        (self.at / "one.c").write_text("#include <stdatomic.h>\natomic_int x; int main(void) { x = 1; return 0; }",
                                       encoding="utf-8")
        self.assertIn("only one thread", self.run_check(str(self.at / "one.c"))[2])
        apart = """static atomic_int x, y; static void *a(void *p) { x = 1; return p; } static void *b(void *p) { y = 1;
            return p; } int main(void) { go(a, b); return 0; }"""
        self.assertIn("ever met", self.run_check(self.program(apart))[2])

    def test_picture(self) -> None:
        def picture(text: str) -> list[str]:
            self.run_check(self.program(text), "--picture", str(self.at / "p.dot"))
            return (self.at / "p.dot").read_text(encoding="utf-8").splitlines()
        race = [line for line in picture(PROGRAMS["race"][0]) if "color=red" in line]
        self.assertEqual(["race" in line for line in race], [False, False, True])   # two accesses, and what joins them
        # A ring: from a lock to the wait of its holder, from there to the other lock, and so round.
        ring = [line for line in picture(PROGRAMS["abba"][0]) if "penwidth=2" in line]
        ends = [tuple(line.split("[")[0].strip().split(" -> ")) for line in ring]
        self.assertEqual(len(ends), 4)
        self.assertEqual({a for a, _ in ends}, {b for _, b in ends})
        lost = picture(PROGRAMS["lost"][0])
        self.assertTrue(any("waits for" in line and "color=red" in line for line in lost))
        # Reads-from, the order of writes, and what a read comes before.
        text = """static atomic_int x; static void *a(void *p) { x = 1; x = 2; return p; } static void *b(void *p) {
            int v = x; assert(v != 1 || x != 2); return p; } int main(void) { go(a, b); return 0; }"""
        edges = [line for line in picture(text) if "label=" in line and "->" in line]
        self.assertEqual(sorted(line.split('label="')[1][:2] for line in edges), ["co", "fr", "rf", "rf"])


if __name__ == "__main__":
    unittest.main()
