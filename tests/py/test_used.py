# SPDX-License-Identifier: MIT
"""No dead options: each build option, variable and knob is in some experiment and in some test."""
from __future__ import annotations

import re
import unittest

import yaml
from fake_tree import ROOT

from experiments.runner import matrix as matrices, variables
from experiments.runner.build import option_names

#: The values of knobs that nothing names, and why.
NOT_NAMED: dict[str, str] = {}

#: The modules that a comparison of all of them leaves out, and why.
NOT_COMPARED: dict[str, dict[str, str]] = {"schedulers": {}, "schedulers-sim": {}, "overheads": {}}

#: The workloads that run under any module and are not in the comparison of all, and why.
NOT_SHOWN = {
    **dict.fromkeys(("blocking", "flag", "stacks", "steps", "suspension", "timers", "wave"), "of the core, whatever the module"),
    "arrivals": "has one worker", "locks": "is about mutexes", "micro": "in overheads", "ranks": "says something else: its matrix",
    "requests": "is about pollers", "httpd-bare-fibres": "so too", "yield": "livelocks on purpose",
}

#: The structures that crowd could name and no matrix has, and why.
NOT_CROWDED = {"chase-lev-growing": "the same, seldom larger", "spmc-deque, reversed": "the same, upside down"}

#: What no experiment has, and why.
NOT_MEASURED = {
    "sanitize": "sends every fibre through the shared queue: no price, but another thing",
    "force_migration": "the same, without a sanitizer too",
    "tests": "says what is built, not how",
    "workloads": "says what is built, not how",
}


def knobs(pattern: str) -> set[str]:
    text = "".join(p.read_text(encoding="utf-8") for p in ROOT.glob(pattern))
    return set(re.findall(r"\bK\((\w+),", text))


def values(pattern: str) -> set[str]:
    """name=value of each knob whose values have names."""
    text = "".join(p.read_text(encoding="utf-8") for p in ROOT.glob(pattern))
    return {f"{name}={value}" for name, all_of in re.findall(r'\bK\((\w+), "([^"]+)"', text) for value in all_of.split("|")}


def names(text: str, value: str) -> bool:
    """Whole, or as one of those that are put in for %s."""
    knob, _, word = value.partition("=")
    return re.search(rf"[:\"']{value}(?![\w-])", text) is not None or (f"{knob}=%s" in text and f'"{word}"' in text)


def lines_of_policy(text: str) -> int:
    """Those of a C text that are neither blank nor only a comment."""
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return sum(bool(re.sub(r"//.*", "", line).strip()) for line in bare.splitlines())


def measured() -> set[str]:
    """The names that cells of shipped matrices have, as options, variables, or in a spec."""
    out: set[str] = set()
    for name in matrices.names(ROOT):
        for cell in matrices.load(ROOT, matrices.find(ROOT, name), cores=2).cells:
            every = {**cell.options, **cell.params, **cell.build}
            out |= {n.replace("-", "_") for n in every}
            out |= {variables.PREFIX + n.upper().replace("-", "_") for n in every}
            for spec in (cell.params.get("scheduler"), every.get("TENTER_POLLER")):
                out |= set(re.findall(r":(\w+)=", str(spec)))
    return out | {"TENTER_SEED"}                     # the runner gives each invocation its own


class Used(unittest.TestCase):
    def setUp(self) -> None:
        self.options = set(option_names(ROOT))
        self.variables = set(variables.known(ROOT)[0])
        self.knobs = knobs("schedulers/*/*.[ch]") | knobs("io/pollers/*.[ch]")
        self.assertLess({"layout", "yield", "park"}, self.knobs)
        self.assertLess({"TENTER_STALL_MS", "TENTER_GUARDS"}, self.variables)

    def test_in_some_experiment(self) -> None:
        there = measured()
        missing = (self.options | self.variables | self.knobs) - there
        self.assertEqual(missing, set(NOT_MEASURED))

    def test_in_some_test(self) -> None:
        files = [p for kind in ("*.[ch]", "py/*.py", "scripts/*", "meson.build")
                 for p in (ROOT / "tests").glob(kind) if p.is_file() and p.name != "test_used.py"]
        text = "".join(p.read_text(encoding="utf-8") for p in files)
        patterns = {name: rf"-D{name}=|get_option\('{name}'\)|\b{name}=|'{name}':"
                    rf"|fake_{name}|\.{name} = "
                    for name in self.options}
        patterns |= {name: rf"{name}\b|\.{name.removeprefix(variables.PREFIX).lower()} = "
                     for name in self.variables}
        patterns |= {name: rf'[:"]{name}=' for name in self.knobs}
        self.assertEqual([n for n, p in sorted(patterns.items()) if not re.search(p, text)], [])

    def test_each_value_is_named(self) -> None:
        """In a test, which is to say what differs by it: a matrix that has it checks nothing, nor a module's spec of a suite for all."""
        def texts(*kinds: str) -> list[str]:
            return [p.read_text(encoding="utf-8") for kind in kinds for p in (ROOT / "tests").glob(kind)
                    if p.is_file() and p.name != "test_used.py"]
        of_modules, of_pollers = values("schedulers/*/*.[ch]"), values("io/pollers/*.[ch]")
        self.assertTrue({"victims=topology", "choice=two"} < of_modules and "mode=loop" in of_pollers)
        tests = texts("*.[ch]", "py/*.py", "scripts/*")
        missing = {v for v in of_modules if not any(names(text, v) for text in tests)}
        missing |= {v for v in of_pollers if not any(names(text, v) for text in (*tests, *texts("meson.build")))}
        self.assertEqual(missing, set(NOT_NAMED))
        self.assertTrue(names('f("m:yield=%s"); {"top", "pop"}', "yield=pop"))
        self.assertFalse(names('f("m:yield=%s"); "top"; "m:other=pop-up"', "yield=pop"))


class Modules(unittest.TestCase):
    def setUp(self) -> None:
        self.modules = {p.parent for p in (ROOT / "schedulers").glob("*/README.md")}
        self.assertLess({"fifo", "staged"}, {m.name for m in self.modules})

    def test_comparisons_have_all(self) -> None:
        for name, without in NOT_COMPARED.items():
            text = (ROOT / "experiments" / "matrices" / f"{name}.yaml").read_text(encoding="utf-8")
            there: set[str] = set()
            for block in (tree := yaml.safe_load(text), *tree.get("include", [])):
                specs = block.get("factors", {}).get("scheduler", [])
                there |= {spec.split(":")[0] for spec in ([specs] if isinstance(specs, str) else specs)}
            with self.subTest(name):
                self.assertEqual({m.name for m in self.modules} - there, set(without))

    def test_comparisons_have_all_workloads(self) -> None:
        text = (ROOT / "experiments" / "workloads" / "meson.build").read_text(encoding="utf-8")
        programs = {name for name, rest in re.findall(r"executable\('([\w-]+)'((?:[^()]|\([^()]*\))*)\)", text)
                    if "bench_tenter_dep" in rest}
        self.assertLess({"packet", "micro", "stages"}, programs)
        for name in ("schedulers", "schedulers-sim"):
            cells = matrices.load(ROOT, matrices.find(ROOT, name), cores=2).cells
            with self.subTest(name):
                self.assertEqual(programs - {cell.program for cell in cells}, set(NOT_SHOWN))

    def test_policy_is_short(self) -> None:
        """A policy has at most 250 lines; what several share lies in schedulers/parts."""
        self.assertEqual(lines_of_policy("/* a\n * b */\n\nint x; /* c */\n"), 1)
        for module in self.modules:
            with self.subTest(module.name):
                self.assertLessEqual(sum(lines_of_policy(p.read_text(encoding="utf-8")) for p in module.glob("*.[ch]")), 250)


class Queues(unittest.TestCase):
    def test_all_in_one_benchmark(self) -> None:
        """Each structure with a face, and each of a peer, of which the stacks cannot be simulated (crowd_peers.c)."""
        ours, peers = (set(re.findall(r'\{(?:\.name = )?"([^"]+)"', "".join(
            (ROOT / "experiments" / "workloads" / name).read_text(encoding="utf-8") for name in names_)))
            for names_ in (("queue_faces.h", "queue_relaxed.h"), ("crowd_peers.c",)))
        self.assertTrue({"nemesis", "multiqueue"} < ours and {"ck-ring", "urcu-wfcq"} < peers)
        for name, wanted in (("queues", ours | peers), ("queues-sim", ours | {"ck-ring", "urcu-wfcq"})):
            cells = matrices.load(ROOT, matrices.find(ROOT, name), cores=2).cells
            with self.subTest(name):
                self.assertEqual(wanted - {cell.params["structure"] for cell in cells}, set(NOT_CROWDED))


if __name__ == "__main__":
    unittest.main()
