# SPDX-License-Identifier: MIT
"""No module is left out of the explorer, of the sanitizers or of 64 simulated cores, and no value of a build option of `--all`."""
from __future__ import annotations

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
from fake_tree import ROOT  # noqa: E402

from experiments.runner import check_cases, testing  # noqa: E402

#: The values that no variant of testing.py has, and where they are tested.
ELSEWHERE = {
    "poller": "null: tests/meson.build makes each poller's suites in every build",
    "mutex": "tests/meson.build: variant_of, in every build; test_mutex has each design",
    "runtime": "the simulated one: test_sim.py",
    "likwid": "test_counters, with a fake one",
}
SANITIZERS = "--sanitize has the others"


def modules() -> set[str]:
    return {p.parent.name for p in (ROOT / "schedulers").glob("*/README.md")}


def options() -> dict[str, tuple[set[str], str]]:
    """The options of a build that are a choice: their values, and the default one."""
    out = {}
    for name, kind, rest in re.findall(r"^option\('(\w+)', type: '(\w+)', (.*)$",
                                       (ROOT / "meson_options.txt").read_text(encoding="utf-8"), re.M):
        choices = {"combo": re.findall(r"'([^']+)'", rest.partition("]")[0]), "boolean": ["true", "false"],
                   "feature": ["enabled", "disabled", "auto"]}.get(kind)
        default = re.search(r"value: '?([\w-]+)", rest)
        if choices and default:
            out[name] = (set(choices), default[1])
    return out


class Everywhere(unittest.TestCase):
    def test_explorer(self) -> None:
        """What one makes ready another takes; and two take, or one yields among others."""
        there = {case.file.stem for case in check_cases.every()}
        self.assertGreater(len(modules()), 8)
        for module in modules():
            with self.subTest(module):
                self.assertLessEqual({f"parts-{module}-{case}" for case in ("need", "take", "yielders")} - {
                    "parts-fifo-yielders"}, there)      # parts-fifo-yielded, where theirs is larger

    def test_sanitizers(self) -> None:
        """The conformance suite has a spec of each, in every build; ThreadSanitizer sees it with migration forced and without."""
        text = (ROOT / "tests" / "meson.build").read_text(encoding="utf-8")
        specs = text[text.index("specs = ["):text.index("foreach knobs : knob_sets")]
        always = specs[:specs.index("knob_sets")]
        named = {spec.split(":")[0] for spec in re.findall(r"'([^']+)'", re.sub(r"#[^\n]*", "", always))}
        self.assertEqual(modules() - named, set())
        self.assertIn("-DTN_PLUGIN", text[text.index("fifo_plugin = "):text.index("test('fifo as a plug-in', conformance")])
        for tool in ("thread", "address"):
            with self.subTest(tool):
                both = [v for v in testing.VARIANTS.values() if f"-Dsanitize={tool}" in v]
                self.assertEqual(sorted("-Dforce_migration=disabled" in v for v in both), [False, True])

    def test_simulated(self) -> None:
        """test_sim.py runs the suite on 64 cores with all that this folder has."""
        text = (ROOT / "tests" / "py" / "test_sim.py").read_text(encoding="utf-8")
        self.assertIn('glob("*/*.c")', text[text.index('The conformance suite, on 64 cores'):])
        self.assertEqual(modules(), {p.parent.name for p in (ROOT / "schedulers").glob("*/*.c")})

    def test_each_value_is_built(self) -> None:
        built = {word for variant in testing.VARIANTS.values() for word in variant}
        there = options()
        self.assertLess({"stacks", "force_migration", "sanitize", "preemption"}, set(there))
        for name, (choices, default) in there.items():
            missing = {c for c in choices - {default, "auto"} if f"-D{name}={c}" not in built}
            with self.subTest(name):
                if name in ELSEWHERE:
                    self.assertNotEqual(missing, set(), "listed for nothing")
                elif name == "sanitize":
                    self.assertEqual(missing, {"undefined", "valgrind"}, SANITIZERS)
                elif name not in ("tests", "workloads"):     # what is built, not how
                    self.assertEqual(missing, set())

    def test_each_name_of_pthreads_is_used(self) -> None:
        names = re.findall(r"^#define (\w+) ", (ROOT / "core/platform_linux/tenter_names.h").read_text(encoding="utf-8"), re.M)
        program = set(re.findall(r"\w+", (ROOT / "tests/pthread_program.c").read_text(encoding="utf-8")))
        self.assertGreater(len(names), 90)
        self.assertEqual(set(names) - program, set())


if __name__ == "__main__":
    unittest.main()
