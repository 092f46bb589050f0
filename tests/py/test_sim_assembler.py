# SPDX-License-Identifier: MIT
"""What sim/bin makes of a compiler's output."""
from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from fake_tree import ROOT


class Assembler(unittest.TestCase):
    """What sim/bin/as makes of a program's assembly."""

    MARK = "\tcall\t__sanitizer_cov_trace_pc@PLT\n"

    @staticmethod
    def rewrite(text: str) -> str:
        loader = importlib.machinery.SourceFileLoader("simulated_as", str(ROOT / "sim" / "bin" / "as"))
        spec = importlib.util.spec_from_loader(loader.name, loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        with mock.patch.object(sys, "dont_write_bytecode", True):
            loader.exec_module(module)
        made: str = module.rewrite(text, "x.s")
        return made

    def test_cost(self) -> None:
        """A block costs its instructions: with a function's prologue, without what the instrumentation has added; a pause
        is no instruction."""
        made = self.rewrite(
            "\t.type\tf, @function\nf:\n\t.cfi_startproc\n\tpushq\t%rbx\n\tsubq\t$16, %rsp\n"
            + self.MARK + "\tmovq\t%rdi, %rbx\n"                                          # this one, the call, the last two
            + "\tmovl\t$5, %edx\n\tmovl\t$1, %esi\n\tmovq\t%rbx, %rdi\n\tcall\t__tsan_atomic64_fetch_add@PLT\n"
            + "\ttestq\t%rax, %rax\n\tje\t.L3\n.L2:\n"
            + self.MARK + "\tmovq\t%rbx, %rdi\n\tcall\t__tsan_read8@PLT\n"               # neither of these
            + "\tmovq\t(%rbx), %rax\n\tpause\n\tpause\n\tjmp\t.L2\n.L3:\n"             # the load and the jump
            + self.MARK + "\taddq\t$16, %rsp\n\tpopq\t%rbx\n\tret\n\tnop\n")            # up to the return
        said = re.findall(r"\taddq\t\$(\d+), sim_insns\(%rip\)\n(?:\tmovl\t\$(\d+), %edi\n\tcall\tsim_pauses@PLT\n)?", made)
        self.assertEqual(said, [("6", ""), ("2", "2"), ("3", "")])

    #: a line of a loop, as it is compiled with and without instrumentation, between two lines of the function
    LOOP = ("\t.file 1 \"x.c\"\n\t.type\tf, @function\nf:\n# BLOCK 2, count:100 (estimated locally) seq:0\n\t.loc 1 1 5\n"
            "{mark}\txorl\t%eax, %eax\n\txorl\t%ebx, %ebx\n"
            "# BLOCK 3, count:{often} (estimated locally) seq:1\n.L2:\n\t.loc 1 2 7 is_stmt 1\n{mark}{body}\tjne\t.L2\n"
            "# BLOCK 4, count:{once}\n\tmovq\t-8(%rbp), %rbx\n\tmovl\t$1, %eax\n"
            "\t.loc 1 3 1 is_stmt 0\n{mark}\taddl\t$1, %eax\n{extra}\tret\n")

    def test_uninstrumented(self) -> None:
        """A line's instructions count for as much as it has without instrumentation: of six that a turn of the loop has made,
        and two behind the jump that run once, as many as the three of the plain code. What no line has in both, by function."""
        made = self.LOOP.format(mark=self.MARK, body="\tmovq\t(%r12), %rax\n\tmovq\t%rax, %rbx\n" + 3 * "\taddq\t$1, %rbx\n",
                                often=100000, once=100, extra="")
        plain = self.LOOP.format(mark="", body="\taddq\t$1, (%rbx)\n\taddq\t$8, %rbx\n", often=700, once=7, extra="\tnop\n")
        said = re.findall(r"\$(\d+), sim_insns", self.rewrite(made + "#uninstrumented\n" + plain))
        self.assertEqual(said, ["2", "3", "3"])
        self.assertEqual(re.findall(r"\$(\d+), sim_insns", self.rewrite(made)), ["2", "8", "2"])
        other = plain.replace("\t.loc 1 2 7", "\t.loc 1 9 7")
        said = re.findall(r"\$(\d+), sim_insns", self.rewrite(made + "#uninstrumented\n" + other))
        self.assertEqual(said, ["2", "3", "3"])

    def test_nothing_runs(self) -> None:
        """A file of data is assembled once."""
        self.assertEqual(self.rewrite("\t.data\nx:\t.long 5\n#uninstrumented\n\t.data\nx:\t.long 5\n"), "\t.data\nx:\t.long 5\n")

    def test_compiled_twice(self) -> None:
        """The compiler puts what it makes without instrumentation behind the other, and says what is wrong once."""
        with tempfile.TemporaryDirectory() as folder:
            source, made = Path(folder) / "x.c", Path(folder) / "x.s"
            source.write_text("int f(int *p) { int unused; return *p; }\n", encoding="utf-8")
            compiler = ["gcc", f"-B{ROOT / 'sim' / 'bin'}/", "-Wall", "-O1", "-fsanitize=thread", "-fsanitize-coverage=trace-pc"]
            done = subprocess.run([*compiler, "-S", "-o", made, source], text=True, capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count("unused-variable")), (0, 1), done.stderr)
            first, _, second = made.read_text(encoding="utf-8").partition("#uninstrumented\n")
            self.assertIn("__tsan_read4", first)
            self.assertIn("f:\n", second)
            self.assertNotRegex(second, "__tsan_read4|__sanitizer_cov_trace_pc")
            self.assertEqual([p.name for p in Path(folder).glob("*.plain")], [])
            source.write_text("int f(int *p) { return q; }\n", encoding="utf-8")
            done = subprocess.run([*compiler, "-S", "-o", made, source], text=True, capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count("undeclared (first")), (1, 1), done.stderr)

    def test_main(self) -> None:
        """A function that the simulator knows by another name is the same one in both."""
        made = self.LOOP.format(mark=self.MARK, body="\tmovq\t(%r12), %rax\n\tmovq\t%rax, %rbx\n" + 3 * "\taddq\t$1, %rbx\n",
                                often=100000, once=100, extra="")
        plain = self.LOOP.format(mark="", body="\taddq\t$1, (%rbx)\n\taddq\t$8, %rbx\n", often=700, once=7, extra="\tnop\n")
        both = (made + "#uninstrumented\n" + plain).replace("\tf,", "\tmain,").replace("\nf:", "\nmain:")
        self.assertEqual(re.findall(r"\$(\d+), sim_insns", self.rewrite(both)), ["2", "3", "3"])

    def test_piped(self) -> None:
        """With -pipe the same comes out; what comes by standard input cannot be read twice, and is refused."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "x.c"
            source.write_text("int f(int *p) { int s = 0; for (int i = 0; i < 9; i++) s += p[i]; return s; }\n", encoding="utf-8")
            compiler = ["gcc", f"-B{ROOT / 'sim' / 'bin'}/", "-O2", "-g", "-dA", "-fsanitize=thread", "-fsanitize-coverage=trace-pc",
                        "-c", "-o"]
            made = []
            for number, more in enumerate(([], ["-pipe"])):
                subprocess.run([*compiler, f"{folder}/{number}.o", *more, source], check=True)
                made.append(Path(f"{folder}/{number}.o").read_bytes())
            self.assertEqual(made[0], made[1])
            for more in ([], ["-pipe"]):
                done = subprocess.run([*compiler, f"{folder}/2.o", *more, "-x", "c", "-"], text=True, capture_output=True, check=False,
                                      input=source.read_text(encoding="utf-8"))
                self.assertEqual((done.returncode, done.stderr), (
                    1, "cc1: error: a source that comes by standard input is there once: the simulator compiles twice, name a file\n"))
            source.write_text("int f(int *p) { return q; }\n", encoding="utf-8")
            done = subprocess.run([*compiler, f"{folder}/3.o", "-pipe", source], text=True, capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count("undeclared (first")), (1, 1), done.stderr)

    def test_library(self) -> None:
        """What waits or tells the time is the simulator's, or refused; a variable may have such a name in a text."""
        for name in ("clock_nanosleep", "usleep", "sleep", "time", "gettimeofday", "pthread_mutex_lock", "sched_getcpu"):
            self.assertIn(f"\tcall\tsimulated_{name}@PLT\n", self.rewrite(self.MARK + f"\tcall\t{name}@PLT\n"))
        for name in ("poll", "ppoll", "select", "epoll_wait", "sem_wait", "sem_timedwait", "pthread_cond_timedwait",
                     "pthread_mutex_timedlock", "pthread_barrier_wait", "pthread_rwlock_rdlock", "pthread_exit", "clock",
                     "pthread_timedjoin_np", "cnd_wait", "mtx_lock", "sigtimedwait", "fork", "posix_spawn", "system", "waitpid",
                     "pthread_once", "pthread_getspecific", "tss_get", "setitimer", "getrandom", "arc4random_uniform"):
            for call in (f"\tcall\t{name}@PLT\n", f"\tjmp\t{name}\n", f"\tcall\t*{name}@GOTPCREL(%rip)\n"):
                with self.assertRaises(SystemExit) as stop:
                    self.rewrite(self.MARK + call)
                self.assertEqual(str(stop.exception), f"x.s: error: {name}() is not simulated")
        for file, where in (('"/y/x.c"', "/y/x.c:7"), ('"/y" "x.c"', "/y/x.c:7"), ('"/y" "x.c" md5 0x5', "/y/x.c:7")):
            with self.assertRaises(SystemExit) as stop:
                self.rewrite(f"\t.file 1 {file}\n\t.loc 1 7 3 is_stmt 1\n{self.MARK}\tcall\tpoll@PLT\n\t.loc 1 8 3\n")
            self.assertEqual(str(stop.exception), f"{where}: error: poll() is not simulated")
        knows = self.MARK + "# not simulated: fork waitpid\n"
        self.assertIn("\tcall\tfork\n", self.rewrite(knows + "\tcall\tfork\n\tcall\twaitpid\n"))
        with self.assertRaises(SystemExit):
            self.rewrite(knows + "\tcall\tsystem\n")
        for line in ("\tcall\tpoll_all@PLT\n", "\tcall\tclock_of\n", '\t.string\t"time"\n', "\tcall\tpthread_self@PLT\n"):
            self.assertIn(line, self.rewrite(self.MARK + line))


if __name__ == "__main__":
    unittest.main()
