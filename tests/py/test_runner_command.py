# SPDX-License-Identifier: MIT
"""The command itself: finding and installing packages, help, exit codes, doctor; real builds."""
from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from fake_tree import ROOT

from experiments.runner import __main__ as command, doctor, testing, variables
from experiments.runner.build import MesonBuilder, Variant, build
from experiments.runner.errors import Stop

PACKAGES = """# a comment
build  here     cmd:sh                 nothing
build  maker    cmd:tenter-test-maker  nothing can be built
plots  drawer   file:{root}/drawer     no figures
plots  pylib    py:no_such_module_x    no figures
peers  giant    cmd:tenter-test-giant  a peer is skipped
"""


class Stub(unittest.TestCase):
    """The stub over a tree of its own, with an apt-get, an id and a sudo that only pretend."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = Path(holder.name).resolve()
        self.bin = self.root / "bin"
        for folder in ("bin", "tools", "experiments/runner"):
            (self.root / folder).mkdir(parents=True)
        shutil.copy(ROOT / "tenter", self.root / "tenter")
        (self.root / "VERSION").write_text("1.2.3\n")
        (self.root / "experiments/runner/__init__.py").touch()
        (self.root / "experiments/runner/__main__.py").write_text(
            "import sys\nprint('python', *sys.argv[1:])\n")
        (self.root / "tools/packages").write_text(PACKAGES.format(root=self.root))
        for name in ("sh", "env", "cat", "readlink", "touch", "chmod", "cp"):
            (self.bin / name).symlink_to(str(shutil.which(name)))
        self.tool("apt-get", f"echo \"$@\" >>'{self.root}/apt'\n"
                  "[ \"$DEBIAN_FRONTEND\" = noninteractive ] || exit 9\n"
                  "case \"$*\" in *install*)\n"
                  f"    cp '{self.bin}/sh' '{self.bin}/tenter-test-maker'; "
                  f"touch '{self.root}/drawer' ;;\nesac\n")
        # an interpreter that is not Debian's and has everything
        self.tool("python3", "case $1 in -) echo ;; *) echo other \"$@\" ;; esac\n")

    def tool(self, name: str, body: str) -> None:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text("#!/bin/sh\n" + body)
        path.chmod(0o755)

    def user(self, number: int) -> None:
        self.tool("id", f"echo {number}\n")

    def call(self, *argv: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([str(self.root / "tenter"), *argv], env={"PATH": str(self.bin)},
                              capture_output=True, text=True, timeout=60, check=False)

    def asked(self) -> str:
        path = self.root / "apt"
        return path.read_text() if path.exists() else ""

    def test_missing_and_no_right_to_install(self) -> None:
        self.user(1000)
        done = self.call("run")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\n  su -c '.*apt-get install -y "
                         r"--no-install-recommends maker drawer'\n$")
        self.tool("sudo", "exit 1\n")
        done = self.call("test")
        self.assertEqual(done.returncode, 2)
        self.assertIn("\n  sudo sh -c '", done.stderr)
        self.assertEqual(self.asked(), "")

    def test_root_installs_and_says_what(self) -> None:
        self.user(0)
        done = self.call("run", "--quick", "a b")
        self.assertEqual(done.stdout, "other -m experiments.runner run --quick a b\n")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "installing.*: maker drawer; log: /.*\n")
        self.assertRegex(self.asked(), r"install -y --no-install-recommends maker drawer\n$")
        self.assertNotIn("giant", self.asked())
        before = self.asked()
        self.assertEqual(self.call("run").stderr, "")
        self.assertEqual(self.asked(), before)

    def test_a_file_probe_is_a_glob(self) -> None:
        self.user(1000)
        packages = self.root / "tools/packages"
        packages.write_text(f"plots  fibre  file:{self.root}/fibre-dev*.list  no figures\n")
        for name, here in (("fibre-devel", False), ("fibre-dev:amd64.list", True),
                           ("fibre-dev.list", True)):
            (self.root / name).touch()
            with self.subTest(name):
                done = self.call("plot")
                self.assertEqual(done.returncode, 0 if here else 2, done.stderr)
                self.assertEqual(" fibre'" in done.stderr, not here)
                self.assertEqual([p["here"] for p in doctor.packages(self.root)], [here])
            if here:
                (self.root / name).unlink()

    def test_passwordless_sudo_installs(self) -> None:
        self.user(1000)
        self.tool("sudo", "shift\n[ \"$1\" = true ] && exit 0\nexec \"$@\"\n")
        self.tool("true", "")
        self.assertEqual(self.call("test").returncode, 0)
        self.assertIn("install", self.asked())

    def test_an_installation_that_fails(self) -> None:
        self.user(0)
        self.tool("apt-get", "exit 100\n")
        done = self.call("run")
        self.assertEqual(done.returncode, 2)
        self.assertIn("installing failed", done.stderr)

    def test_an_installation_that_changes_nothing(self) -> None:
        self.user(0)
        self.tool("apt-get", "exit 0\n")
        done = self.call("run")
        self.assertEqual(done.returncode, 2)
        self.assertIn("still missing after the installation: maker drawer", done.stderr)

    def test_no_apt(self) -> None:
        (self.bin / "apt-get").unlink()
        done = self.call("run")
        self.assertEqual(done.returncode, 2)
        self.assertIn("maker drawer", done.stderr)

    def test_only_the_groups_of_the_verb(self) -> None:
        self.user(1000)
        self.assertIn("install -y --no-install-recommends drawer'", self.call("plot").stderr)
        self.assertIn("install -y --no-install-recommends maker'", self.call("list").stderr)
        self.assertIn("maker drawer'", self.call("doctor", "--fix").stderr)
        self.assertIn("install -y --no-install-recommends drawer'", self.call("model", "locks", "--out=x").stderr)
        self.assertEqual(self.call("model", "locks").returncode, 0)
        self.assertEqual(self.call("doctor").returncode, 0)
        self.assertEqual(self.call("run", "--help").returncode, 0)

    def test_help_and_version(self) -> None:
        for argv, code in (((), 2), (("--help",), 0), (("-h",), 0), (("help",), 0)):
            done = self.call(*argv)
            self.assertEqual(done.returncode, code)
            self.assertIn("usage: ./tenter VERB", done.stderr if code else done.stdout)
        self.assertEqual(self.call("--version").stdout, "tenter 1.2.3\n")

    def test_through_a_link_and_from_elsewhere(self) -> None:
        link = self.root / "bin" / "link"
        link.symlink_to(self.root / "tenter")
        done = subprocess.run([str(link), "--version"], cwd="/", env={"PATH": str(self.bin)},
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "tenter 1.2.3\n")

    def test_the_list_of_packages_is_whole(self) -> None:
        table = doctor.packages()
        self.assertEqual({p["group"] for p in table}, {"build", "plots", "test", "cross", "peers"})
        self.assertTrue(all(p["cost"] for p in table))


class Verbs(unittest.TestCase):
    def entry(self, *argv: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
                mock.patch.dict(os.environ):
            code = command.entry(list(argv))
        return code, out.getvalue(), err.getvalue()

    def test_unknown_verb(self) -> None:
        self.assertEqual(self.entry("rnu"), (2, "", "tenter: unknown verb 'rnu' (nearest: run)\n"))

    def test_errors_are_one_line(self) -> None:
        code, out, err = self.entry("run", "no-such-matrix", "--plan")
        self.assertEqual((code, out, err.count("\n")), (2, "", 1))
        for verb in command.VERBS:
            code, out, err = self.entry(verb, "--jsn")
            self.assertEqual((code, out), (2, ""))
            self.assertRegex(err, f"^tenter: ./tenter {verb}: unknown option --jsn "
                             r"\(.*\); ./tenter \w+ --help says more\n$")

    def test_standard_output_is_full(self) -> None:
        """Also of the stub itself: --version that was cut off would be another version."""
        for argv in [["--help"], ["help"], ["--version"], *([verb, "--help"] for verb in command.VERBS)]:
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([str(ROOT / "tenter"), *argv], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 2, argv)
            self.assertRegex(done.stderr, r"\Atenter: cannot write standard output(: No space left on device)?\n\Z")
            done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", str(ROOT / "tenter"), *argv], stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 2, argv)
            self.assertRegex(done.stderr, r"\Atenter: cannot write standard output(: it is closed)?\n\Z")

    def test_variables(self) -> None:
        for name, text in (("TENTER_WROKERS", "(nearest: TENTER_WORKERS)"),
                           ("TENTER_SCHEDULERS", "(nearest: TENTER_SCHEDULER)")):
            with mock.patch.dict(os.environ, {name: "1"}):
                self.assertEqual(self.entry("list"),
                                 (2, "", f"tenter: no variable '{name}' {text}; unset it\n"))
        with mock.patch.dict(os.environ, {"TENTER_WORKERS": "1", "TENTER_TEST_SEED": "1"}):
            self.assertEqual(self.entry("run", "--help")[2], "note: TENTER_WORKERS will not reach "
                             "the programs: what is measured is what the matrix says\n")
            self.assertEqual(self.entry("doctor", "--help")[2], "")

    def test_variables_are_those_that_the_sources_read(self) -> None:
        """Whoever adds one adds it to core/config.c; nobody reads one that is not there."""
        names, families = variables.known(ROOT)
        for part in ("core", "schedulers", "io", "tests", "dscheck", "experiments"):
            for path in (ROOT / part).rglob("*.[ch]"):
                for name in re.findall(r'getenv\("(TENTER_\w+)"\)', path.read_text()):
                    self.assertTrue(name in names or name.startswith(tuple(families)),
                                    f"{name} in {path}")
        self.assertLessEqual({"TENTER_WORKERS", "TENTER_SPIN_US", "TENTER_POLLER"}, set(names))

    def test_an_internal_error_is_one_line_and_a_file(self) -> None:
        fault = RuntimeError("odd\nindeed")
        with mock.patch("experiments.runner.doctor.main", side_effect=fault), \
                mock.patch.object(command, "ROOT", Path(tempfile.gettempdir()) / "no/such"), \
                mock.patch.object(variables, "check", return_value=[]):
            code, _, err = self.entry("doctor")
        self.assertEqual((code, err.count("\n")), (99, 1))
        path = Path(err.rsplit("traceback in ", 1)[1].rstrip(")\n"))
        self.assertIn("RuntimeError: odd", path.read_text())
        path.unlink()

    def test_interrupted(self) -> None:
        with mock.patch("experiments.runner.doctor.main", side_effect=KeyboardInterrupt):
            self.assertEqual(self.entry("doctor")[0], 130)

    def test_help_of_each_verb(self) -> None:
        for verb in command.VERBS:
            code, out, _ = self.entry(verb, "--help")
            self.assertEqual(code, 0)
            self.assertIn(f"usage: ./tenter {verb}", out)

    def test_doctor(self) -> None:
        code, out, _ = self.entry("doctor", "--json")
        said = json.loads(out)
        self.assertEqual(code, 0 if said["complete"] else 2)
        for part in ("limits", "kernel", "machine"):
            for check in said[part]:
                self.assertEqual(bool(check["cost"]), check["good"] is False, check)
                self.assertTrue(check["cost"] or not check["fix"], check)
        absent = [{"group": "plots", "package": "x", "here": False, "cost": "no figures"}]
        with mock.patch("experiments.runner.doctor.packages", lambda: absent):
            code, out, _ = self.entry("doctor")
        self.assertEqual(code, 2)
        self.assertIn("-> apt-get install -y --no-install-recommends x", out)


@unittest.skipUnless(shutil.which("meson") and shutil.which("gcc"), "no meson or no compiler")
class RealBuilds(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = Path(holder.name).resolve()
        (self.root / "experiments/workloads").mkdir(parents=True)
        (self.root / "meson.build").write_text(
            "project('tiny', 'c')\nsubdir('experiments/workloads')\n")
        (self.root / "meson_options.txt").write_text(
            "option('schedulers', type: 'string', value: 'fifo')\n")
        (self.root / "experiments/workloads/meson.build").write_text(
            "foreach p : ['good', 'bad']\n"
            "  executable(p, p + '.c', c_args: '-DM_' + get_option('schedulers'))\nendforeach\n")
        (self.root / "experiments/workloads/good.c").write_text(
            "#ifdef M_broken\n#error this module is broken\n#endif\n"
            "int main(void) { return 0; }\n")
        (self.root / "experiments/workloads/bad.c").write_text("int main(void) { return x; }\n")

    def test_variants(self) -> None:
        builder = MesonBuilder(self.root)
        fifo = Variant.of({"schedulers": "fifo"})
        built = build(builder, fifo, ["good", "bad", "none"])
        self.assertEqual(set(built.programs), {"good"})
        self.assertEqual(subprocess.run([str(built.programs["good"])], check=False).returncode, 0)
        self.assertRegex(built.problems["bad"], "bad.c:1:.*error: .x. undeclared")
        self.assertEqual(built.absent, {"none"})
        first = built.programs["good"].stat().st_mtime_ns
        again = build(builder, fifo, ["good"])
        self.assertEqual(again.programs["good"].stat().st_mtime_ns, first)

        broken = build(builder, Variant.of({"schedulers": "broken"}), ["good"])
        self.assertIn("error: #error this module is broken", broken.problems["good"])
        assert broken.log is not None
        self.assertIn("#error", broken.log.read_text())
        unknown = build(builder, Variant.of({"no_such": "x"}), ["good"])
        self.assertIn("no_such", unknown.problems["good"])
        compiler = build(builder, Variant.of({"compiler": "no-such-cc"}), ["good"])
        self.assertIn("no-such-cc", compiler.problems["good"])

    def test_the_verb_test(self) -> None:
        (self.root / "meson.build").write_text(
            "project('tiny', 'c')\n"
            "yes = executable('yes', 'yes.c')\nno = executable('no', 'no.c')\n"
            "test('yes', yes, suite: 'fast')\ntest('no', no, suite: 'stress')\n")
        (self.root / "yes.c").write_text("int main(void) { return 0; }\n")
        (self.root / "no.c").write_text('#include <stdio.h>\nint main(void) { return puts("why not") >= 0; }\n')
        (self.root / "tests/py").mkdir(parents=True)
        (self.root / "tests/py/test_one.py").write_text(
            "import unittest\nclass One(unittest.TestCase):\n    def test_it(self): pass\n")
        (self.root / "dscheck/cases").mkdir(parents=True)
        (self.root / "dscheck/cases/run.sh").write_text("exit 77\n")
        (self.root / "tenter").write_text("#!/bin/sh\nprintf 'case: cannot be explored\\nanother ok\\nok      a third\\n'\nexit $(cat code)\n")
        (self.root / "tenter").chmod(0o755)
        (self.root / "code").write_text("0")
        (self.root / "meson_options.txt").write_text("option('workloads', type: 'boolean')\n")
        explorer = int(os.uname().machine == "x86_64")
        for argv, code, last in (([], 0, f"{2 + explorer} passed, 0 failed, 1 skipped"),
                                 (["--variant", "one"], 0, "1 passed, 0 failed"),
                                 (["--variant", "bad"], 1, "0 passed, 1 failed"),
                                 (["--all"], 1, f"{3 + explorer} passed, 2 failed, 1 skipped")):
            text = (f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
                    "from pathlib import Path\nfrom experiments.runner import testing\n"
                    "testing.VARIANTS = {'one': ['-Dbuildtype=debug'], 'bad': ['-Dnone=1']}\n"
                    f"sys.exit(testing.main({argv!r}, Path({str(self.root)!r})))\n")
            done = subprocess.run([sys.executable, "-c", text], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertEqual(done.stdout.splitlines()[-1], last)
            self.assertEqual(" / no\n    why not\n" in done.stdout, argv == ["--all"])
        if explorer:
            (self.root / "code").write_text("77")       # a case that cannot be explored is not skipped
            with mock.patch("experiments.runner.testing.say"), contextlib.redirect_stdout(io.StringIO()) as said:
                self.assertEqual(testing.main([], self.root), 1)
            self.assertRegex(said.getvalue(), r"failed: tenter check --jobs 2 --budget 120s\n    case: cannot be explored\n\d+ passed")
        (self.root / "no.c").write_text("int main(void) { return x; }\n")
        with self.assertRaisesRegex(Stop, "does not compile: .*no.c:1.*error"), \
                mock.patch("experiments.runner.testing.say"):
            testing.main([], self.root)


if __name__ == "__main__":
    unittest.main()
