# SPDX-License-Identifier: MIT
"""What plain code does to atomic locations, who comes to rest, and what is no concurrency: through `./tenter check`."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
from checking import Checking  # noqa: E402

ADDS = "static atomic_int x; static void *a(void *p) { atomic_int *n = p ? p : &x; (*n)++; return p; }\n"
WAITS = """static void *sets(void *p) { atomic_store((atomic_int *)p, 1); return p; }
    static void wait_for(bool start) { atomic_int done = 0; pthread_t s; if (start) pthread_create(&s, 0, sets, &done);
    while (!atomic_load(&done)) ; if (start) pthread_join(s, 0); }\n"""

#: name -> (program, the kind of the bug, or None where it is right): a location that plain code writes to begins anew.
LIVES: dict[str, tuple[str, str | None]] = {
    "reset": (ADDS + """int main(void) { go(a, a); memset(&x, 0, sizeof(x)); assert(x == 2); return 0; }""", "assertion"),
    "reset-right": (ADDS + """int main(void) { for (int i = 0; i < 2; i++) { memset(&x, 0, sizeof(x)); go(a, a);
        assert(x == 2); } return 0; }""", None),
    "block-again": (ADDS + """static void *own(void *p) { for (int i = 0; i < 2; i++) { atomic_int *n = calloc(1, 4); a(n);
        assert(*n == 1); free(n); a(0); } return p; } int main(void) { go(own, own); return 0; }""", None),
    "other-size": (ADDS + """static void *own(void *p) { atomic_int *n = calloc(2, 4); n[1]++; free(n); a(0);
        atomic_long *m = calloc(1, 8); (*m)++; assert(*m == 1); free(m); return p; }
        int main(void) { go(own, own); return 0; }""", None),
    "place-again": (WAITS + """int main(void) { wait_for(true); wait_for(true); return 0; }""", None),
    "place-never": (WAITS + """int main(void) { wait_for(true); wait_for(false); return 0; }""", "livelock"),
    "semaphore-again": (ADDS + """#include <semaphore.h>
        static sem_t s; static void *post(void *p) { sem_post(&s); return p; } int main(void) { sem_init(&s, 0, 0);
        go(post, post); sem_destroy(&s); sem_init(&s, 0, 0); sem_wait(&s); return 0; }""", "deadlock"),
    "semaphore-right": (ADDS + """#include <semaphore.h>
        static sem_t s; static void *post(void *p) { sem_post(&s); return p; } int main(void) {
        for (int i = 0; i < 2; i++) { sem_init(&s, 0, 0); go(post, post); sem_wait(&s); sem_wait(&s); sem_destroy(&s); }
        return 0; }""", None),
    "upper-half": ("""static union { _Atomic struct two { long a, b; } both; long half[2]; } u;
        static void *a(void *p) { atomic_store(&u.both, ((struct two){1, 2})); return p; } int main(void) { go(a, a);
        u.half[1] = 9; struct two v = atomic_load(&u.both); assert(v.a == 1 && v.b == 9); return 0; }""", None),
    "upper-half-races": ("""static union { _Atomic struct two { long a, b; } both; long half[2]; } u;
        static void *a(void *p) { atomic_store(&u.both, ((struct two){1, 2})); return p; } static void *b(void *p) {
        u.half[1] = 9; return p; } int main(void) { go(a, b); return 0; }""", "data race"),
    "no-join-of-who-exits": ("""static atomic_int x; static void *a(void *p) { x++; exit(0); } int main(void) { x++;
        pthread_create(t, 0, a, 0); pthread_join(t[0], 0); assert(0); return 0; }""", None),
    "overlap": ("""static atomic_long x; static void *a(void *p) { x++; return p; } static void *b(void *p) {
        (*(atomic_int *)((char *)&x + 4))++; return p; } int main(void) { go(a, b); return 0; }""", "unsupported"),
}

#: The same with --retry-as-await: nobody will let it go on, or somebody will.
RETRIES = (
    ("livelock", """static atomic_int x; static void *a(void *p) { int e; do e = 5; while (
        !atomic_compare_exchange_strong(&x, &e, 6)); return p; } static void *b(void *p) { x++; return p; }
        int main(void) { go(a, b); return 0; }"""),
    ("ok", """static atomic_int x; static void *a(void *p) { int e; do e = 1; while (
        !atomic_compare_exchange_strong(&x, &e, 6)); return p; } static void *b(void *p) { x++; return p; }
        int main(void) { go(a, b); return 0; }"""),
    ("ok", """static atomic_int x; static void *a(void *p) { for (int i = 0; i < 2; i++) { int e = 5;
        if (atomic_compare_exchange_strong(&x, &e, 6)) break; } return p; } int main(void) { x = 1;
        pthread_create(t, 0, a, 0); pthread_exit(0); }"""),
)

#: No two threads meet at a location with nothing to order them, one of them to write.
ONE = "pthread_create(t, 0, a, 0); pthread_join(t[0], 0);"
NEVER_MET = (ADDS + "int main(void) { x = 1; " + ONE + " assert(x == 2); return 0; }",
             "static atomic_int x; static void *a(void *p) { assert(!x); return p; } int main(void) { go(a, a); return 0; }",
             ADDS + "int main(void) { for (int i = 0; i < 2; i++) { " + ONE + " } return 0; }")


class Lives(Checking):
    def test_lives(self) -> None:
        for name, (text, kind) in LIVES.items():
            with self.subTest(name):
                head = "#include <stdbool.h>\n#include <string.h>\n"
                _, answer, out = self.run_check(self.program(head + text, name + ".c"))
                verdict = "ok" if kind is None else kind if kind == "unsupported" else "bug"
                self.assertEqual((answer["verdict"], answer["blocked"] if kind is None else 0), (verdict, 0), out)
                if verdict == "bug":
                    self.assertEqual(answer["kind"], kind, out)

    def test_counts_multiply(self) -> None:
        """What comes after all has been put back does not depend on what came before."""
        text = """static atomic_int x[2]; static void *a(void *p) { int v = x[0]; x[1] = v; atomic_fetch_add(&x[0], 1); return p; }
            static void *b(void *p) { int v = 0; atomic_compare_exchange_strong(&x[0], &v, 2); x[1]++; return p; }
            int main(void) { for (int i = 0; i < PHASES; i++) { memset(x, 0, sizeof(x)); go(a, b); } return 0; }"""
        file = self.program("#include <string.h>\n" + text)
        once, twice = (self.run_check(file, "--", f"-DPHASES={n}")[1]["executions"] for n in (1, 2))
        self.assertGreater(once, 1)
        self.assertEqual(twice, once * once)

    def test_who_retries_for_ever(self) -> None:
        for says, text in RETRIES:
            for options in ([], ["--retry-as-await"]):
                with self.subTest(says, options=options):
                    _, answer, out = self.run_check(self.program(text, says + ".c"), *options)
                    self.assertEqual(answer["kind"] or answer["verdict"], says, out)

    def test_an_unbounded_loop_is_replayed(self) -> None:
        file = self.program("""static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static int n; static void *a(void *p) {
            pthread_mutex_lock(&m); while (!n) { pthread_mutex_unlock(&m); pthread_mutex_lock(&m); } pthread_mutex_unlock(&m);
            return p; } static void *b(void *p) { pthread_mutex_lock(&m); n = 1; pthread_mutex_unlock(&m); return p; }
            int main(void) { go(a, b); return 0; }""")
        self.assertEqual(self.run_check(file, "--events", "200")[1]["kind"], "unbounded loop")
        _, answer, out = self.run_check(file, "--replay", str(self.at / "a.replay"))
        self.assertEqual(answer["kind"], "unbounded loop", out)

    def test_who_never_met(self) -> None:
        for text in NEVER_MET:
            _, answer, out = self.run_check(self.program(text))
            self.assertTrue(any("met" in warning for warning in answer["warnings"]), out)


if __name__ == "__main__":
    unittest.main()
