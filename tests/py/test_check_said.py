# SPDX-License-Identifier: MIT
"""What `check` says besides its verdict: lines that nobody came to, what makes an answer worth less, names, values."""
from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
from checking import HEAD, Checking  # noqa: E402

from experiments.runner import check, check_build  # noqa: E402
from experiments.runner.errors import Stop  # noqa: E402

#: The tagged stack of every textbook, with an atomic of 16 bytes; TAG 0 is the one without a tag.
WIDE = """
struct node { struct node *_Atomic next; };
struct top { struct node *first; unsigned long tag; };
static _Atomic struct top top;
static struct node n[2];
static atomic_int owners[2];
static struct node *pop(void) {
    struct top old = atomic_load(&top), new;
    do {
        if (!old.first) return NULL;
        new = (struct top){old.first->next, old.tag + TAG};
    } while (!atomic_compare_exchange_weak(&top, &old, new));
    return old.first;
}
static void *a(void *p) { struct node *x = pop(); if (x) assert(owners[x - n]++ == 0); return p; }
static void *b(void *p) {
    struct node *x = pop(), *y = pop();
    if (y) owners[y - n]++;
    if (x) { struct top old = atomic_load(&top); x->next = old.first;
        atomic_compare_exchange_strong(&top, &old, ((struct top){x, old.tag + TAG})); }
    return p; }
int main(void) { n[1].next = &n[0]; top = (struct top){&n[1], 1}; go(a, b); struct node *x = pop();
    if (x) assert(owners[x - n]++ == 0); return 0; }
"""


class Said(Checking):
    def test_lines_never_executed(self) -> None:
        text = """static atomic_int x, never; static void *a(void *p) { if (x > 5)
  never = 1;
  x++; if (p != 0)
  atomic_thread_fence(memory_order_seq_cst);
  return p; }
int main(void) { go(a, a); return 0; }"""
        file = self.program(text, head="""#include <pthread.h>
#include <stdatomic.h>
static void go(void *(*f)(void *), void *(*g)(void *)) { pthread_t t[2]; pthread_create(&t[0], 0, f, 0);
    pthread_create(&t[1], 0, g, 0); pthread_join(t[0], 0); pthread_join(t[1], 0); }
""")
        code, answer, out = self.run_check(file)
        self.assertEqual((code, answer["unexecuted"]), (0, ["p.c:6", "p.c:8"]))
        self.assertIn("never executed: p.c:6, p.c:8", out)
        # all processes, and all shards, count
        self.assertEqual(self.run_check(file, "--jobs", "3")[1]["unexecuted"], ["p.c:6", "p.c:8"])
        # of a queue's header, not of the case that includes it
        root = Path(__file__).resolve().parents[2]
        case = root / "dscheck" / "cases" / "queue-mpmc_ring-full.c"
        code, answer, _ = self.run_check(str(case), "--", f"-I{root}", f"-I{root}/core")
        self.assertEqual({line.partition(":")[0] for line in answer["unexecuted"]}, {"mpmc_ring.h", "rounds.h"})
        bug = self.run_check(self.program("int main(void) { abort(); }"))[1]
        self.assertEqual((bug["verdict"], bug["unexecuted"]), ("bug", None))

    def test_shards_add_up(self) -> None:
        file = self.program("""static atomic_int x, y; static void *a(void *p) { int v = x; x = v + 1; v = x; x = v + 1;
            if (x == 4)
            y = 1;
            if (x == 9)
            y = 2; return p; } int main(void) { go(a, a); return 0; }""")
        parts = []
        for i in range(1, 4):
            parts.append(str(self.at / f"{i}.json"))
            self.run_check(file, "--shard", f"{i}/3")
            (self.at / "a.json").rename(parts[-1])
        whole = self.run_check(file)[1]
        code, out = self.merge(parts)
        merged = json.loads(out)
        self.assertEqual((code, merged["executions"], merged["unexecuted"], merged["bound"]),
                         (0, whole["executions"], whole["unexecuted"], None))
        self.assertEqual(len(whole["unexecuted"]), 1)

    def merge(self, parts: list[str]) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = check.main(["--merge", *parts, "--json", "-"])
        return code, out.getvalue()

    def test_shards_of_different_things_do_not_add_up(self) -> None:
        text = """static atomic_int x; static void *a(void *p) { x += N; return p; } int main(void) { go(a, a); return 0; }"""
        file, parts = self.program(text), []
        for i, options in enumerate((["--shard", "1/2", "--", "-DN=1"], ["--shard", "2/2", "--", "-DN=1"],
                                     ["--shard", "2/2", "--", "-DN=2"], ["--shard", "2/2", "--reuse", "off", "--", "-DN=1"],
                                     ["--", "-DN=1"])):
            self.run_check(file, *options)
            parts.append(str(self.at / f"{i}.json"))
            (self.at / "a.json").rename(parts[-1])
        self.assertEqual(self.merge(parts[:2])[0], 0)
        for wrong, word in ((2, "another program"), (3, "other options"), (4, "not the --json of a --shard"), (0, "each shard")):
            with self.assertRaises(Stop) as refused:
                self.merge([parts[0], parts[wrong]])
            self.assertIn(word, str(refused.exception))

    def test_a_race_with_free(self) -> None:
        code, answer, out = self.run_check(self.program("""static atomic_int *_Atomic q;
static void *a(void *p) { atomic_int *mine = q; if (mine)
  atomic_load(mine);
  return p; }
static void *b(void *p) { atomic_int *mine = atomic_exchange(&q, NULL);
  free(mine);
  return p; }
int main(void) { q = malloc(4); atomic_init(q, 0); go(a, b); return 0; }""", head=HEAD + "#line 1\n"))
        self.assertEqual((code, answer["kind"]), (1, "data race"))
        load, free = "atomic load by thread 1 at p.c:3", "free() by thread 2 at p.c:6"
        self.assertIn(f"an {load} and {free} are not ordered", answer["message"])
        self.assertEqual([(x["thread"], x["place"]) for x in answer["accesses"]], [(1, "p.c:3"), (2, "p.c:6")])
        marked = [line.strip() for line in out.splitlines() if line.strip().startswith("*")]
        self.assertEqual(len(marked), 2, out)
        self.assertIn("p.c:3 load malloc0.1 0", marked[0])
        self.assertEqual(marked[1], "* p.c:6 free() malloc0.1")

    def test_plain_accesses_that_race_are_shown(self) -> None:
        out = self.run_check(self.program("""static atomic_int x; static int y; static void *a(void *p) { y = 1; x = 1; return p; }
            static void *b(void *p) { return (void *)(long)y; } int main(void) { go(a, b); return 0; }"""))[2]
        self.assertRegex(out, r"\* p.c:\d+ plain write y\n(.*\n)*.*\* p.c:\d+ plain read y\n")
        # Two reads do not race, though one of them is atomic.
        code, answer, _ = self.run_check(self.program("""static atomic_int x; static void *a(void *p) { return (void *)(long)x; }
            static void *b(void *p) { return (void *)(long)*(int *)&x; } int main(void) { go(a, b); return 0; }"""))
        self.assertEqual((code, answer["verdict"]), (0, "ok"), answer["message"])

    def test_who_freed_and_who_allocated(self) -> None:
        after = self.run_check(self.program("""static void *a(void *p) { int *q = malloc(4); *q = 1; free(q);
            return (void *)(long)*q; } int main(void) { go(a, a); return 0; }"""))[1]
        self.assertRegex(after["message"], r"plain read by thread 1 at p.c:\d+: use after free, of a block that thread 1 has "
                         r"freed at p.c:\d+$")
        twice = self.run_check(self.program("int main(void) { int *q = malloc(4); free(q);\n free(q); return 0; }"))[1]
        self.assertRegex(twice["message"], r"free\(\) of a block that main has freed at p.c:\d+")
        leak = self.run_check(self.program("static void *a(void *p) { malloc(4); return p; } int main(void) { go(a, a); return 0; }"))
        self.assertRegex(leak[1]["message"], r"4 bytes, allocated at p.c:\d+, is never freed")

    def test_warnings_are_in_the_json(self) -> None:
        one = self.run_check(self.program("static atomic_int x; int main(void) { x = 1; return 0; }"))
        self.assertIn("only one thread", one[1]["warnings"][0])
        self.assertIn("only one thread", one[2])
        none = self.run_check(self.program("int main(void) { return 0; }"))
        self.assertIn("only one thread", none[1]["warnings"][0])
        apart = self.run_check(self.program("""static atomic_int x, y; static void *a(void *p) { x = 1; return p; }
            static void *b(void *p) { y = 1; return p; } int main(void) { go(a, b); return 0; }"""))
        self.assertIn("ever met", apart[1]["warnings"][0])

    def test_hidden_code_is_refused(self) -> None:
        (self.at / "hidden.h").write_text("""static int x; __attribute__((no_sanitize("thread")))
            static void hidden(void) { x++; }""", encoding="utf-8")
        code, answer, _ = self.run_check(self.program("""#include "hidden.h"
            static void *a(void *p) { hidden(); return p; } int main(void) { go(a, a); return 0; }"""))
        self.assertEqual((code, answer["verdict"]), (77, "unsupported"))
        self.assertIn("no_sanitize", answer["message"])
        self.assertIn("hidden.h", answer["message"])
        pasted = self.program("""#define PASTE(a, b) a##b\nstatic int x; __attribute__((PASTE(no_sani, tize)("thread")))
            static void hidden(void) { x++; } static void *a(void *p) { hidden(); return p; } int main(void) { go(a, a); return 0; }""")
        self.assertIn("no_sanitize", self.run_check(pasted)[1]["message"])

    def test_locked_code_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "made.o"
            for text, good in (("lock incl x(%rip)", False), ("xchg %eax, x(%rip)", False), ("mfence", False), ("incl x(%rip)", True)):
                subprocess.run(["gcc", "-c", "-x", "assembler", "-", "-o", str(made)], input=f"{text}\ncall __tsan_func_exit\n"
                               ".bss\nx: .long 0\n", text=True, check=True)
                if good:
                    check_build._hold(made, made, {}, set(), check_build.checker())
                else:
                    with self.assertRaisesRegex(Stop, "no instrumentation has seen"):
                        check_build._hold(made, made, {}, set(), check_build.checker())

    def test_what_nobody_needs_is_kept(self) -> None:
        """A variable that is only written, a read that goes nowhere: the compiler may drop neither."""
        for text in ("""static int x; static atomic_int go_on; static void *a(void *p) { go_on = 1; x = 1; return p; }
                     static void *b(void *p) { if (go_on) x = 2; return p; } int main(void) { go(a, b); return 0; }""",
                     """static atomic_int x; static void *a(void *p) { x = 1; return p; } static void *b(void *p) {
                     int y = *(int *)&x; (void)y; return p; } int main(void) { go(a, b); return 0; }"""):
            self.assertEqual(self.run_check(self.program(text))[1]["kind"], "data race")
        kept = self.program("static int *p; int main(void) { p = malloc(4); return 0; }")
        self.assertEqual(self.run_check(kept)[1]["verdict"], "ok", "something points to it")

    def test_no_execution_was_whole(self) -> None:
        _, answer, _ = self.run_check(self.program("""void __VERIFIER_assume(int); static atomic_int x; static void *a(void *p) {
            x = 1; __VERIFIER_assume(0); return p; } int main(void) { go(a, a); return 0; }"""))
        self.assertEqual(answer["executions"], 0)
        self.assertIn("an assumption failed", answer["warnings"][0])

    def test_what_was_taken_for_granted(self) -> None:
        file = self.program("""static atomic_int x; static void *a(void *p) { int v = x, n = 0; while (!atomic_compare_exchange_strong(&x,
            &v, v + 1)) n++; assert(n == 0); return p; } int main(void) { go(a, a); return 0; }""")
        self.assertEqual(self.run_check(file)[0], 1)
        _, answer, out = self.run_check(file, "--retry-as-await", "--reuse", "off")
        self.assertEqual((answer["verdict"], answer["bound"]), ("ok", "retries as awaits, no block used again"))
        self.assertIn(f"under sc, {answer['bound']}:", out)

    def test_sixteen_bytes(self) -> None:
        file = self.program(WIDE)
        code, answer, _ = self.run_check(file, "--jobs", "2", "--", "-DTAG=1")
        self.assertEqual((code, answer["verdict"]), (0, "ok"), answer["message"])
        point = str(self.at / "point")
        self.run_check(file, "--checkpoint", point, "--budget", "5", "--", "-DTAG=1")
        again = self.run_check(file, "--checkpoint", point, "--resume", "--", "-DTAG=1")[1]
        self.assertEqual(again["executions"], answer["executions"])
        code, answer, out = self.run_check(file, "--", "-DTAG=0")
        self.assertEqual((code, answer["kind"]), (1, "assertion"))
        self.assertIn("(&n+8, 1)", out)             # a value of two halves, and an address by its name
        for text, why in (("static _Atomic __int128 x; static void *a(void *p) { x += 1; return p; }", "arithmetic"),
                          ("struct s { long a[3]; }; static _Atomic struct s x; static void *a(void *p) { struct s y = x; "
                           "return (void *)y.a[0]; }", "more than 16 bytes")):
            code, answer, _ = self.run_check(self.program(text + "int main(void) { go(a, a); return 0; }"))
            self.assertEqual((code, answer["verdict"]), (77, "unsupported"))
            self.assertIn(why, answer["message"])

    def test_names(self) -> None:
        out = self.run_check(self.program("""#include <dscheck.h>
            static atomic_int *one, many[2];
            static void *a(void *p) { (*one)++; many[1]++; assert(*one < 2); return p; }
            int main(void) { one = malloc(sizeof(*one)); *one = 0; DSCHECK_NAME(many[1]); go(a, a); return 0; }"""))[2]
        self.assertIn("fetch-add malloc0.1 0 -> 1", out)
        self.assertIn("fetch-add many[1] 0 -> 1", out)


if __name__ == "__main__":
    unittest.main()
