# SPDX-License-Identifier: MIT
"""The verb `check` as a command: what it refuses, where its answers go, files of any name, several files."""
from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
from checking import ROOT, Checking, check  # noqa: E402

from experiments.runner import check_build as build  # noqa: E402
from experiments.runner.errors import Stop  # noqa: E402

BUG = "static atomic_int x; static void *a(void *p) { x++; assert(x < 2); return p; } int main(void) { go(a, a); return 0; }"
RIGHT = BUG.replace("x < 2", "x < 3")


class Cli(Checking):
    def verb(self, *argv: str) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = check.main(list(argv))
        return code, out.getvalue()

    def stops(self, *argv: str, code: int = 2) -> str:
        with self.assertRaises(Stop, msg=argv) as caught:
            self.verb(*argv)
        self.assertEqual(caught.exception.code, code, argv)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def command(self, *argv: str, cwd: Path | None = None, out: int | io.IOBase = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(ROOT / "tenter"), "check", *argv], stdout=out, stderr=subprocess.PIPE, text=True, check=False,
                              cwd=cwd)

    def test_checkpoints_replace_nothing_else(self) -> None:
        file, victim = self.program(RIGHT), self.at / "victim.c"
        victim.write_text("int precious;", encoding="utf-8")
        self.assertIn("no checkpoint", self.stops(file, "--checkpoint", str(victim)))
        self.assertEqual(victim.read_text(encoding="utf-8"), "int precious;")
        victim.rename(self.at / "point.new")            # what a checkpoint is written to first
        self.assertIn("no checkpoint", self.stops(file, "--checkpoint", str(self.at / "point")))
        for place, why in (("/dev/null", "no file"), (str(self.at), "no file"), ("/nonexistent/x", "cannot write /nonexistent/x: ")):
            self.assertIn(why, self.stops(file, "--checkpoint", place))
        self.assertTrue(Path("/dev/null").is_char_device())
        self.assertFalse(Path(f"{self.at}.new").exists())
        point = self.at / "empty"
        point.touch()
        self.assertEqual(self.verb(file, "--checkpoint", str(point), "--budget", "1")[0], 3)
        self.assertEqual(self.verb(file, "--checkpoint", str(point), "--resume")[0], 0)

    def test_nothing_read_is_overwritten(self) -> None:
        file, dot = self.program(BUG), str(self.at / "x.dot")
        text, link, replay = Path(file).read_text(encoding="utf-8"), self.at / "link", str(self.at / "p.replay")
        link.symlink_to(file)
        for option in ("--save", "--keep", "--json"):
            for name in (file, str(link), f"{self.at}/./p.c"):
                self.assertIn("which is read", self.stops(file, option, name))
        self.assertEqual(Path(file).read_text(encoding="utf-8"), text)
        self.assertIn("where --picture goes", self.stops(file, "--picture", dot, "--json", dot))
        self.assertIn("where --save goes", self.stops(file, "--save", dot, "--keep", dot))
        self.assertIn("where --checkpoint goes", self.stops(file, "--checkpoint", dot, "--json", dot))
        self.assertIn("give that a --save", self.stops(file, "--json", "p.replay"))
        self.verb(file, "--save", replay)
        self.assertIn("which is read", self.stops(file, "--replay", replay, "--json", replay))
        self.assertIn("which is read", self.stops("--merge", replay, "--json", replay))
        self.assertEqual(self.verb(file, "--save", "/dev/null", "--json", "/dev/null")[0], 1)     # both may go there

    def test_flags_that_write(self) -> None:
        file = self.program(RIGHT)
        for flags in (["-o", "foo"], ["-ofoo"], ["--output=foo"], ["-MD"], ["-MF", "foo"], ["-save-temps"], ["-E"]):
            self.assertIn("leave it out", self.stops(file, "--", *flags))
        self.assertEqual(self.verb(file, "--", "-O2", "-Dok")[0], 0)

    def test_a_name_like_an_option(self) -> None:
        self.program(BUG, "-x.c")
        done = self.command("./-x.c", cwd=self.at)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("check ./-x.c --replay ./-x.replay", done.stdout)
        self.assertEqual(self.command("./-x.c", "--replay", "./-x.replay", cwd=self.at).returncode, 1)

    def test_unsupported_is_an_answer(self) -> None:
        """Also where the checker sees it before it begins."""
        file = self.program(RIGHT + " __attribute__((destructor)) static void d(void) { x = 0; }")
        code, out = self.verb(file, "--json", "-")
        self.assertEqual((code, json.loads(out)["verdict"]), (77, "unsupported"))
        code, out = self.verb(file)
        self.assertRegex(out, "^p.c: unsupported under sc: .*destructors")

    def test_names_with_spaces(self) -> None:
        folder = self.at / "a $folder #1"
        folder.mkdir()
        (folder / "its header.h").write_text("static int of_header;", encoding="utf-8")
        file = self.program('#include "its header.h"\n' + BUG, "a $folder #1/in c.c")
        code, answer, out = self.run_check(file)
        self.assertEqual((code, answer["kind"]), (1, "assertion"), out)
        self.assertIn("in c.c:", out)
        self.assertIn(f"check '{file}' --replay", out)
        (folder / "its header.h").write_text("static int x_ __attribute__((no_sanitize(\"thread\")));", encoding="utf-8")
        self.assertIn("its header.h: an attribute no_sanitize", self.run_check(file)[1]["message"])

    def test_several_files(self) -> None:
        one = self.program("extern atomic_int x; extern int table[]; void w(void); static void *a(void *p) { w(); return p; }\n"
                           "int main(void) { go(a, a); assert(x == table[1]); return 0; }", "m1.c")
        two = self.program("atomic_int x; void w(void) { int v = x; x = v + 1; }", "m2.c", "#include <stdatomic.h>\n")
        three = self.program("int table[] = {1, 2};", "m3.c", "")
        for files in ((one, two, three), (three, two, one)):
            code, out = self.verb(*files, "--save", str(self.at / "s.replay"))
            self.assertEqual(code, 1, out)
            self.assertIn("m2.c:2 load x", out)
        self.assertIn("it needs table, which none of the files defines", self.verb(one)[1])
        self.assertRegex(self.stops(one, two, three, one), r"it does not link: .*multiple definition of .main")
        self.assertIn("no main()", self.stops(two))

    def test_options_that_would_be_ignored(self) -> None:
        file = self.program(RIGHT)
        for argv, why in ((["--jobs", "0"], "from 1 to"), (["--jobs", "-2"], "from 1 to"), (["--bound", "-1"], "from 0 to"),
                          (["--events", "0"], "from 1 to"), (["--strategy", "random", "--budget", "1", "--seed", str(2 ** 64)], "from 0 to"),
                          (["--seed", "3"], "--seed is for"), (["--strategy", "random", "--bound", "1", "--budget", "1"], "--bound"),
                          (["--strategy", "pct", "--shard", "1/2", "--budget", "1"], "--shard"), (["--bound", "1", "--jobs", "2"], "--jobs"),
                          (["--strategy", "pct"], "--budget"), (["--save", ""], "name of a file"), (["--keep", "-"], "name of a file"),
                          (["--interval", "1s"], "--checkpoint"), (["--resume"], "--checkpoint"), (["--gdb"], "--replay"),
                          (["--picture", "p.png"], "FILE.svg"), (["--list"], "stands alone"), (["--merge", "x"], "stands alone"),
                          (["--replay", "x", "--malloc-fail"], "--malloc-fail"), (["-DK=3"], "CFLAGS go after --"),
                          (["--budget", "0s"], "--budget"), (["--checkpoint", str(self.at / "p"), "--interval", "nans"], "--interval")):
            self.assertIn(why, self.stops(file, *argv), argv)
        (self.at / "d.c").mkdir()
        (self.at / "inc.txt").touch()
        for name, why in (("d.c", "is a directory"), ("inc.txt", "is no C file"), ("nix.c", "there is no")):
            self.assertIn(why, self.stops(str(self.at / name)))
        out = self.verb(file, "--picture", str(self.at / "q.dot"))[1]
        self.assertIn("not written: " + str(self.at / "q.dot"), out)

    def test_what_cannot_be_written(self) -> None:
        """Before the search where that is seen; else the answer comes first, and its code stays, unless that says good."""
        bug, right = self.program(BUG), self.program(RIGHT, "right.c")
        build.checker()                                 # which would be said
        for option in ("--save", "--keep", "--picture", "--json"):
            name = "/nonexistent/x.dot"
            self.assertEqual(self.stops(bug, option, name), f"cannot write {name}: No such file or directory")
        for option in ("--save", "--keep", "--json"):
            done = self.command(bug, option, "/dev/full", cwd=self.at)
            self.assertEqual((done.returncode, done.stderr), (1, "tenter: cannot write /dev/full: No space left on device\n"))
            self.assertRegex(done.stdout, r"bug under sc(.*\n)*.*fetch-add x")
        self.assertEqual(self.command(right, "--json", "/dev/full").returncode, 2)
        (self.at / "p.replay").unlink()
        (self.at / "p.replay").mkdir()                  # where nothing can be written, for root too
        done = self.command(bug, cwd=self.at)
        self.assertEqual((done.returncode, done.stderr), (1, "tenter: cannot write p.replay: Is a directory\n"))
        self.assertIn("bug under sc", done.stdout)

    def test_standard_output_is_full(self) -> None:
        right = self.program(RIGHT)
        part = str(self.at / "part.json")
        self.verb(right, "--shard", "1/1", "--json", part)
        with open("/dev/full", "w", encoding="utf-8") as full:
            for argv in ([right], ["--list"], ["--help"], ["--merge", part], ["queue:spinlock", "queue:spinlock"], [right, "--json", "-"]):
                done = self.command(*argv, out=full)
                self.assertEqual((done.returncode, done.stderr.splitlines()[-1:]),
                                 (2, ["tenter: cannot write standard output: No space left on device"]), done.stderr)

    def test_merge_says_what_one_would_have(self) -> None:
        bug, right = self.program(BUG), self.program(RIGHT, "right.c")
        for file in (bug, right):
            for i in (1, 2):
                self.verb(file, "--shard", f"{i}/2", "--json", f"{file}{i}", "--save", str(self.at / "s"))
        self.assertRegex(self.verb("--merge", right + "1", right + "2")[1], r"^2 parts: ok under sc: \d+ executions, ")
        code, out = self.verb("--merge", bug + "1", bug + "2")
        self.assertEqual(code, 1)
        self.assertRegex(out, r"^2 parts: bug under sc: assertion: x < 2 \(")
        said = str(self.at / "merged")
        self.verb("--merge", bug + "1", bug + "2", "--json", said)
        self.assertEqual(json.loads(Path(said).read_text(encoding="utf-8"))["verdict"], "bug")
        self.assertIn("is not the --json", self.stops("--merge", right, right + "1"))
        self.assertIn("there is no nix", self.stops("--merge", "nix"))

    def test_replay_files(self) -> None:
        file, replay, cut = self.program(BUG), self.at / "a.replay", self.at / "cut"
        self.run_check(file)
        whole = replay.read_bytes()
        for text in (whole[:-20], whole[:40], b"", b"\xff\xfe", whole.replace(b"\n0 ", b"\n", 1)):
            cut.write_bytes(text)
            self.assertIn("is no replay file", self.stops(file, "--replay", str(cut)))
        self.assertIn("there is no", self.stops(file, "--replay", "nix"))
        self.assertIn("is no replay file", self.stops(file, "--replay", str(self.at)))

    def test_docs_tell_all_of_the_json(self) -> None:
        text = (ROOT / "docs" / "checking.md").read_text(encoding="utf-8").partition("## The answer as JSON")[2].partition("\n## ")[0]
        told = [name for row in text.splitlines() if row.startswith("| `") for name in re.findall("`([^`]+)`", row.split("|")[1])]
        self.assertEqual(sorted(told), sorted(self.run_check(self.program(BUG))[1]))

    def test_a_deadline_in_c11(self) -> None:
        """timespec_get() is the only way to one: both ways out of the wait are explored."""
        file = self.program("""static mtx_t m; static cnd_t c; static atomic_int late; static int a(void *p) { struct timespec t;
            assert(timespec_get(&t, TIME_UTC) == TIME_UTC && timespec_get(&t, 0) == 0); t.tv_sec++; mtx_lock(&m);
            if (cnd_timedwait(&c, &m, &t) == thrd_timedout) late = 1; mtx_unlock(&m); return p != 0; }
            int main(void) { thrd_t s; mtx_init(&m, mtx_plain); cnd_init(&c); thrd_create(&s, a, 0); cnd_signal(&c);
            thrd_join(s, 0); assert(!late); return 0; }""")
        code, answer, _ = self.run_check(file)
        self.assertEqual(code, 1)
        self.assertIn(answer["kind"], ("deadlock", "assertion"))

    def test_words_of_traces(self) -> None:
        out = self.run_check(self.program("""static atomic_int x; static void *a(void *p) { int e = 0;
            assert(atomic_compare_exchange_weak(&x, &e, 1)); return p; } int main(void) { pthread_create(&t[0], 0, a, 0);
            pthread_join(t[0], 0); return 0; }"""), "--spurious-cas")[2]
        self.assertIn("CAS x 0 fails spuriously", out)
        out = self.run_check(self.program("""static mtx_t m; static cnd_t c; static void *a(void *p) { mtx_lock(&m); cnd_wait(&c, &m);
            mtx_unlock(&m); return p; } int main(void) { mtx_init(&m, mtx_plain); cnd_init(&c); go(a, a); return 0; }"""))[2]
        self.assertIn("waits for a signal of c", out)
        out = self.run_check(self.program("""static atomic_int x; static int n; static void *a(void *p) { while (!x) n++; return p; }
            static void *b(void *p) { x = 0; return p; } int main(void) { go(a, b); return 0; }"""))[2]
        self.assertRegex(out, r"\.\.\. \d+ steps")
        self.assertLess(len(out.splitlines()), 70)

    def test_words(self) -> None:
        code, answer, out = self.run_check(self.program(BUG))
        self.assertRegex(answer["message"], r"^assertion: x < 2 \(")
        self.assertIn(f"bug under sc: {answer['message']} (1 execution, ", out)
        self.assertGreater(answer["executions"], 0)     # the failing one, though it has not come to its end
        code, answer, out = self.run_check(self.program(BUG.replace("x++;", "extern int w_(void); w_();")))
        self.assertEqual(code, 77)
        self.assertEqual(out.count("unsupported"), 1)


if __name__ == "__main__":
    unittest.main()
