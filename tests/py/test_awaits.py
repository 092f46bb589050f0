# SPDX-License-Identifier: MIT
"""Loops that wait, as the explorer sees them: counts that are known by reasoning, and loops that never end."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HEAD = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int l, y; static int x, go;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
#define RUN(n, f) int main(void) { pthread_t t[n]; for (int i = 0; i < n; i++) pthread_create(&t[i], 0, f, 0); \\
    for (int i = 0; i < n; i++) pthread_join(t[i], 0); return 0; }
"""
# A failed try is work, but only once for each write that it reads: of two threads the later one may fail once.
CAS = """static void *a(void *p) { int e = 0; while (!atomic_compare_exchange_%s(&l, &e, 1)) e = 0; x++;
    atomic_store(&l, 0); return p; } RUN(%d, a)"""
TRY = """static void *a(void *p) { while (pthread_mutex_trylock(&m)) ; x++; pthread_mutex_unlock(&m); return p; } RUN(%d, a)"""


@unittest.skipUnless(os.uname().machine == "x86_64" and shutil.which("objdump"), "the explorer is for x86-64")
class Awaits(unittest.TestCase):
    def check(self, text: str, *options: str, head: str = HEAD) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "p.c").write_text(head + text, encoding="utf-8")
            done = subprocess.run([str(ROOT / "tenter"), "check", "p.c", "--json", "-", *options], cwd=folder,
                                  capture_output=True, text=True, check=False)
        out = json.loads(done.stdout)
        assert isinstance(out, dict)
        return out

    def count(self, text: str, *options: str, head: str = HEAD) -> tuple[str, int, int]:
        out = self.check(text, *options, head=head)
        return out["verdict"], out["executions"], out["blocked"]

    def test_a_failed_try_waits(self) -> None:
        for n, executions in ((2, 4), (3, 48)):
            self.assertEqual(self.count(CAS % ("strong", n)), ("ok", executions, 0))
            self.assertEqual(self.count(TRY % n), ("ok", executions, 0))
        lost = self.check(CAS.replace("atomic_store(&l, 0);", "") % ("strong", 2))
        self.assertEqual((lost["verdict"], lost["kind"]), ("bug", "livelock"))

    def test_failures_for_no_reason_end(self) -> None:
        self.assertEqual(self.count(CAS % ("weak", 2)), ("ok", 4, 0))
        self.assertEqual(self.count(CAS % ("weak", 2), "--spurious-cas")[:2], ("ok", 28))
        once = """static void *a(void *p) { int e = 0; atomic_compare_exchange_weak(&l, &e, 1); return p; } RUN(%d, a)"""
        for n, executions in ((2, 5), (3, 13)):
            self.assertEqual(self.count(once % n, "--spurious-cas")[1], executions)

    def test_turns_that_write_end(self) -> None:
        """A turn that writes is no wait; so an exchange does not fail for no reason twice in a row."""
        push = """struct node { %s struct node *next; }; static struct node *_Atomic top; static struct node n[2];
            static atomic_int at; static void *a(void *p) { struct node *me = &n[at++], *old = top;
            do me->next = old; while (!atomic_compare_exchange_weak(&top, &old, me)); return p; } RUN(2, a)"""
        counts = [self.count(push % kind, "--spurious-cas") for kind in ("_Atomic", "")]
        self.assertEqual(counts[0], counts[1])
        self.assertEqual(counts[0][0], "ok")

    def test_plain_writes_are_state(self) -> None:
        # What the loop writes is back when it comes round, but not where it waits: the wait must leave that alone.
        wait = """static void *a(void *p) { for (;;) { x = 0; if (l) break; x = 1; if (y) { assert(x == 1); break; } } return p; }
            static void *b(void *p) { y = 1; l = 1; return p; } int main(void) { pthread_t t, u; pthread_create(&t, 0, a, 0);
            pthread_create(&u, 0, b, 0); pthread_join(t, 0); pthread_join(u, 0); return 0; }"""
        self.assertEqual(self.check(wait)["verdict"], "ok")
        counts = "static void *a(void *p) { while (!l) x ^= 1, x += 2; return p; } static void *b(void *p) { l = 1; return p; }"
        main = """int main(void) { pthread_t t, u; pthread_create(&t, 0, a, 0); pthread_create(&u, 0, b, 0);
            pthread_join(t, 0); pthread_join(u, 0); return 0; }"""
        self.assertEqual(self.check(counts + main)["kind"], "unbounded loop")

    def test_what_was_tried_elsewhere_is_no_livelock(self) -> None:
        # `a` has read 1 and waits; the 2, which it could take, is the last write, but has been offered elsewhere.
        text = """static void *a(void *p) { while (l == 1) ; return p; } static void *b(void *p) { l = 2; return p; }
            static void *c(void *p) { l = 1; int e = l; while (!atomic_compare_exchange_weak(&l, &e, e + 2)) ; return p; }
            int main(void) { pthread_t t, u, v; pthread_create(&t, 0, a, 0); pthread_create(&u, 0, b, 0);
            pthread_create(&v, 0, c, 0); pthread_join(t, 0); pthread_join(u, 0); pthread_join(v, 0); return 0; }"""
        self.assertEqual(self.count(text)[:2], ("ok", 12))
        # What ends the wait of one that has been made to wait is not read again by way of what has nothing to do with it.
        # And that ends when the place where it waited has gone.
        for name, executions in (("woken", 9), ("gone", 6)):
            text = (ROOT / "dscheck" / "mutants" / f"{name}.c").read_text(encoding="utf-8")
            self.assertEqual(self.count(text, head="")[:2], ("ok", executions))

    def test_loops_without_atomics_end(self) -> None:
        loop = "static void *a(void *p) { l++; if (l == 2) for (;;) %s; return p; } RUN(2, a)"
        for body in ("", "if (go) break; else x++"):
            out = self.check(loop % body)
            self.assertEqual((out["verdict"], out["kind"]), ("bug", "unbounded loop"))
            self.assertIn("p.c:", out["message"])

    def test_many_readers_then_a_write(self) -> None:
        # One of them is not ordered with the writer, whichever of them it is.
        many = """static void *r(void *p) { volatile int v = x; (void)v; return p; } static void *w(void *p) { x = 1; return p; }
            int main(void) { pthread_t t[8], u; for (int i = 0; i < 8; i++) pthread_create(&t[i], 0, r, 0);
            pthread_create(&u, 0, w, 0); for (int i = 0; i < 8; i++) pthread_join(t[i], 0); pthread_join(u, 0); return 0; }"""
        for first in range(8):
            text = many.replace("pthread_create(&u, 0, w, 0); ", "").replace(
                "pthread_join(u, 0);", "").replace("for (int i = 0; i < 8; i++) pthread_join(t[i], 0);",
                f"for (int i = 0; i < 8; i++) if (i != {first}) pthread_join(t[i], 0); x = 1; pthread_join(t[{first}], 0);")
            self.assertEqual(self.check(text)["kind"], "data race", first)


if __name__ == "__main__":
    unittest.main()
