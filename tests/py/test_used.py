# SPDX-License-Identifier: MIT
"""No dead options: each build option, variable and knob is in some experiment and in some test."""
from __future__ import annotations

import re
import unittest

from fake_tree import ROOT

from experiments.runner import matrix as matrices, variables
from experiments.runner.build import option_names

#: What no experiment has, and why.
NOT_MEASURED = {
    "sanitize": "sends every fibre through the shared queue: no price, but another thing",
    "tests": "says what is built, not how",
    "workloads": "says what is built, not how",
}


def knobs(pattern: str) -> set[str]:
    text = "".join(p.read_text(encoding="utf-8") for p in ROOT.glob(pattern))
    return set(re.findall(r"\bK\((\w+),", text))


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
        self.knobs = knobs("schedulers/*/*.[ch]") | knobs("io/pollers/*.c")
        self.assertLess({"layout", "yield", "park"}, self.knobs)
        self.assertLess({"TENTER_STALL_MS", "TENTER_GUARDS"}, self.variables)

    def test_in_some_experiment(self) -> None:
        there = measured()
        missing = (self.options | self.variables | self.knobs) - there
        self.assertEqual(missing, set(NOT_MEASURED))

    def test_in_some_test(self) -> None:
        files = [p for kind in ("*.[ch]", "py/*.py", "scripts/*", "meson.build")
                 for p in (ROOT / "tests").glob(kind) if p.name != "test_used.py"]
        text = "".join(p.read_text(encoding="utf-8") for p in files)
        patterns = {name: rf"-D{name}=|get_option\('{name}'\)|\b{name}=|'{name}':"
                    rf"|fake_{name}|\.{name} = "
                    for name in self.options}
        patterns |= {name: rf"{name}\b|\.{name.removeprefix(variables.PREFIX).lower()} = "
                     for name in self.variables}
        patterns |= {name: rf'[:"]{name}=' for name in self.knobs}
        self.assertEqual([n for n, p in sorted(patterns.items()) if not re.search(p, text)], [])


if __name__ == "__main__":
    unittest.main()
