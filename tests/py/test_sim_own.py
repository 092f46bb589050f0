# SPDX-License-Identifier: MIT
"""./tenter sim FILE.c: programs of the user's own."""
from __future__ import annotations

import json
import shutil
import tempfile
import unittest
from pathlib import Path

from fake_tree import ROOT

from experiments.runner.build import MesonBuilder, Variant
from test_sim import tenter


class Own(unittest.TestCase):
    """A program that is no workload: a C file of the user's."""

    SHARE = """#include <pthread.h>
#include <stdio.h>
struct cell { _Alignas(PAD) volatile long hits; };
static struct cell cells[4];
static void *count(void *arg)
{
    struct cell *mine = arg;
    for (int i = 0; i < 100000; i++)
        mine->hits++;
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, count, &cells[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    printf("%s %ld\\n", argv[argc - 1], cells[0].hits + cells[3].hits);
    return argc;
}
"""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "own.c"

    def made(self, text: str, *argv: str, behind: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
        self.file.write_text(text, encoding="utf-8")
        return tenter("--cores", "8", *argv, str(self.file), *behind)

    def test_false_sharing(self) -> None:
        """Padding switches it on and off; the report names the variable and its field. What the program prints itself comes
        too, but not into the record; its exit code is the verb's."""
        found = {}
        for pad in (8, 64):
            text = self.SHARE.replace("PAD", str(pad))
            done = self.made(text, "--json", "-", behind=("--cores", "last"))
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("last 200000\n", done.stderr)
            said = json.loads(done.stdout)
            self.assertEqual((said["program"], said["code"], said["sim"]["cores"]), (str(self.file), 3, 8))
            again = json.loads(self.made(text, "--json", "-", behind=("--cores", "last")).stdout)
            for one in (said, again):
                one["sim"].pop("host")
            self.assertEqual(said, again)
            found[pad] = said["sim"]
        self.assertGreater(found[8]["transfers"], 1000)
        self.assertLess(found[64]["transfers"], 10)
        self.assertGreater(found[8]["virtual_ns"], 1.2 * found[64]["virtual_ns"])
        self.assertEqual(found[8]["lines"][0]["line"], "byte 0 of the variable cells")
        done = self.made(self.SHARE.replace("PAD", "8"), behind=("last",))
        self.assertRegex(done.stdout, r"\Alast 200000\n  simulated: epyc7702x2, 8 cores, .*\n")
        if shutil.which("gdb"):
            self.assertRegex(found[8]["lines"][0]["field"], r"\Astruct cell\.hits, own\.c:9\Z")
            self.assertRegex(done.stdout, r"of the variable cells \(struct cell\.hits, own\.c:9\)\n")

    def test_main_counts(self) -> None:
        """What main does costs instructions, as much as what any function does."""
        loop = "volatile int x; {} {{ for (int i = 0; i < 100000; i++) x = x + i; return 0; }}"
        counts = []
        for text in (loop.format("int main(void)"), loop.format("__attribute__((noinline)) static int f(void)") + "int main(void) { return f(); }"):
            counts.append(json.loads(self.made(text, "--json", "-").stdout)["sim"]["instructions"])
        self.assertGreater(counts[0], 400000)
        self.assertAlmostEqual(counts[0] / counts[1], 1, delta=0.01)

    def test_fibres(self) -> None:
        """The core's fibres, by a module and with a seed; a program may end in one of them."""
        text = ('#include <stdio.h>\n#include <stdlib.h>\n#include <tenter.h>\n'
                'static void *f(void *a) { (void)a; puts("there"); exit(5); }\n'
                'int main(void) { return tn_run(NULL, f, NULL, NULL); }\n')
        done = self.made(text, "--scheduler", "fifo:private=0", "--seed", "7")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertRegex(done.stdout, r"\Athere\n  simulated: (?s:.*)\n  worker 0 +busy")

    def test_refused(self) -> None:
        for text, code, said in (("int main(void) { return y; }", 2, "own.c:1:25: error: 'y' undeclared"),
                                 ("#include <poll.h>\nint main(void)\n{\n    return poll(0, 0, 5);\n}", 2,
                                  "own.c:4: error: poll() is not simulated"),
                                 ("int f(void) { return 0; }", 2, "undefined reference to `main'"),
                                 ("#include <tenter_io.h>\nint main(void) { char c; return (int)tn_read(0, &c, 1); }", 2,
                                  "(what is simulated has no I/O)"),
                                 ("#include <unistd.h>\nint main(void) { _exit(0); }", 2, "let main return, or call exit"),
                                 ("int *p; int main(void) { *p = 5; return 0; }", 99, "own.c was ended by SIGSEGV")):
            done = self.made(text)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(said, done.stderr.splitlines()[-1])
            self.assertEqual([p.name for p in (MesonBuilder(ROOT).folder(Variant.of({"runtime": "sim", "schedulers": "fifo"})) /
                                               "own").iterdir() if p.is_dir()], [], "nothing is left")


if __name__ == "__main__":
    unittest.main()
