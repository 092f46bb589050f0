# SPDX-License-Identifier: MIT
"""A replay is the same each time, also under gdb, with breakpoints, and where gdb leaves addresses to chance."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
from checking import ROOT, Checking  # noqa: E402

from experiments.runner import check_build as build  # noqa: E402

LONG = bool(os.environ.get("TENTER_TEST_LONG"))

#: Its failure depends on which of two waiters is woken, on which value a choice has, and on addresses of the heap.
TEXT = """
#include <dscheck.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int tokens, first;
static atomic_int *sum;
static void *wait(void *p) {
    pthread_mutex_lock(&m);
    while (tokens == 0)
        pthread_cond_wait(&c, &m);
    tokens--;
    if (!first) first = 1 + (int)(long)p;
    pthread_mutex_unlock(&m);
    atomic_int *mine = malloc(sizeof(*mine)); *mine = dscheck_choose(3);
    atomic_fetch_add(sum, *mine);
    free(mine);
    return 0; }
int main(void) {
    sum = malloc(sizeof(*sum)); *sum = 0;
    pthread_create(&t[0], 0, wait, (void *)0); pthread_create(&t[1], 0, wait, (void *)1);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m); tokens++; pthread_cond_signal(&c); pthread_mutex_unlock(&m); }
    pthread_join(t[0], 0); pthread_join(t[1], 0);
    assert(!(first == 2 && *sum == 3));
    free(sum);
    return 0; }
"""


class Replay(Checking):
    def setUp(self) -> None:
        super().setUp()
        self.file = self.program(TEXT)
        self.replay = str(self.at / "a.replay")
        code, self.answer, out = self.run_check(self.file, "--keep", str(self.at / "p.so"))
        self.assertEqual((code, self.answer["kind"]), (1, "assertion"), out)

    def test_the_same_each_time(self) -> None:
        command = [str(build.checker()), str(self.at / "p.so"), "--schedule", self.replay]
        outs = set()
        for _ in range(100 if LONG else 10):
            out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            outs.add("".join(x + "\n" for x in out.splitlines() if x.split()[0] not in ("seconds", "startup", "kib")))
        self.assertEqual(len(outs), 1)
        self.assertIn("kind assertion", outs.pop())

    def test_through_the_verb(self) -> None:
        again = self.run_check(self.file, "--replay", self.replay)[1]
        for key in ("verdict", "kind", "message", "trace"):
            self.assertEqual(again[key], self.answer[key])

    def test_of_a_program_that_has_changed(self) -> None:
        """Nothing that happens to pass is called ok."""
        mended = Path(self.program(TEXT.replace("assert(!(", "assert(1 || !(")))
        code, answer, out = self.run_check(str(mended), "--replay", self.replay)
        self.assertEqual((code, answer["verdict"], answer["bound"]), (0, "ok", "one execution"), out)
        self.assertIn("nothing wrong found under sc, one execution", self.said(str(mended)))
        mended.write_text(mended.read_text(encoding="utf-8").replace("atomic_fetch_add(sum", "if (*mine == 7) atomic_fetch_add(sum"),
                          encoding="utf-8")
        code, answer, out = self.run_check(str(mended), "--replay", self.replay)
        self.assertEqual((code, answer["verdict"]), (3, "incomplete"), out)
        self.assertIn("it goes another way at step", self.said(str(mended)))

    def said(self, file: str) -> str:
        return subprocess.run([str(ROOT / "tenter"), "check", file, "--replay", self.replay], stdout=subprocess.PIPE, text=True,
                              check=False).stdout

    @unittest.skipUnless(shutil.which("gdb"), "no gdb here")
    def test_under_gdb(self) -> None:
        """The breakpoint is met by both threads; what the checker says is what it says without gdb."""
        for randomised in ("off", "on"):        # off: gdb does not turn randomisation off
            for _ in range(50 if LONG else 1):
                script = (f"set confirm off\nset disable-randomization {randomised}\nbreak p.c:{self.line('fetch_add')}\n"
                          "run\nbacktrace\nnext\ncontinue\ncontinue\ncontinue\nquit\n")
                done = subprocess.run([str(ROOT / "tenter"), "check", self.file, "--replay", self.replay, "--gdb", "--json", "-"],
                                      input=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                self.assertEqual(done.returncode, 1, done.stdout)
                # gdb splits the line where a breakpoint is announced
                self.assertEqual(done.stdout.count("Breakpoint 2, "), 2, done.stdout)
                self.assertEqual(done.stdout.count("Breakpoint 1, "), 1, done.stdout)   # where it fails
                self.assertIn("in wait", done.stdout.replace("wait (p=", "in wait (p="))
                self.assertEqual(done.stdout.count("kind assertion"), 1, done.stdout)
                said = json.loads(done.stdout[done.stdout.index('{"schema"'):])   # behind gdb's last prompt
                self.assertEqual((said["message"], said["trace"]), (self.answer["message"], self.answer["trace"]))

    def line(self, word: str) -> int:
        lines = Path(self.file).read_text(encoding="utf-8").splitlines()
        return next(n for n, line in enumerate(lines, 1) if word in line)


#: Who waits looks at plain memory in each turn, at whatever time `OTHER` writes there: before what ends the wait, later,
#: or once who waited has been waited for.
LOOKS = """
static atomic_int x; int data; volatile int sum;
__attribute__((noinline)) static int over(void) { int v = atomic_load(&x); if (!v && data == 7) sum = 1; return v; }
static void *ends(void *p) { if (OTHER == 0) data = 1; atomic_store(&x, 1); return p; }
static void *waits(void *p) { while (!over()) thrd_yield(); return p; }
static void *other(void *p) { if (OTHER == 1) data = 1; return p; }
int main(void) {
    pthread_create(&t[0], 0, ends, 0); pthread_create(&t[1], 0, waits, 0); pthread_join(t[0], 0);
    pthread_create(&t[2], 0, other, 0); pthread_join(t[2], 0); pthread_join(t[1], 0);
    if (OTHER == 2) data = 1;
    return 0; }
"""


class InVain(Checking):
    def test_what_a_turn_in_vain_looks_at(self) -> None:
        file = self.program(LOOKS)
        for other in (0, 1):
            code, answer, out = self.run_check(file, "--", f"-DOTHER={other}")
            self.assertEqual((code, answer["kind"]), (1, "data race"), out)
            self.assertNotIn("does not fail again", out)
            code, answer, out = self.run_check(file, "--replay", str(self.at / "a.replay"), "--", f"-DOTHER={other}")
            self.assertEqual((code, answer["kind"]), (1, "data race"), out)
        code, answer, out = self.run_check(file, "--", "-DOTHER=2")
        self.assertEqual((code, answer["executions"], answer["blocked"]), (0, 1, 0), out)


if __name__ == "__main__":
    unittest.main()
