# SPDX-License-Identifier: MIT
"""core/binding.py: modules and knobs that a build fixes become the core's headers."""
from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Binding(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.out = Path(scratch.name) / "out"

    def bind(self, spec: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, str(ROOT / "core/binding.py"), spec, str(ROOT),
                               str(self.out)], capture_output=True, text=True, check=False)

    def fixed(self) -> str:
        return (self.out / "tn_fixed.h").read_text(encoding="utf-8")

    def test_one_module_is_bound_into_the_core(self) -> None:
        self.assertEqual(self.bind("fifo").stdout, "")
        header = (self.out / "tn_binding.h").read_text(encoding="utf-8")
        self.assertIn('schedulers/fifo/fifo.c"', header)
        self.assertIn("&tn_scheduler_fifo", header)

    def test_several_are_a_table(self) -> None:
        done = self.bind("fifo, lifo,plugin")
        self.assertEqual(len(done.stdout.split()), 2)
        header = (self.out / "tn_binding.h").read_text(encoding="utf-8")
        self.assertIn("((cl)->sched)", header)
        self.assertIn("BINDING_PLUGIN = 1", header)

    def test_each_knob_of_the_shipped_modules_can_be_fixed(self) -> None:
        values = {"layout": "global", "capacity": "64", "private": "16", "full": "refuse",
                  "steal": "one", "spawn": "child", "victims": "nearest", "nearest": "3",
                  "place": "home"}
        for module in ("fifo", "lifo"):
            spec = module + "".join(f":{k}={v}" for k, v in values.items())
            self.assertEqual(self.bind(spec).returncode, 0)
            self.assertEqual(self.fixed().count(f"#define TN_FIX_{module}_"), len(values))
            self.assertIn(f"TN_FIX_{module}_layout ~, 1", self.fixed())
            self.assertIn(f"TN_FIX_{module}_private ~, 16", self.fixed())

    def test_what_is_wrong_is_said_in_one_line(self) -> None:
        for spec, words in (("fifi", "did you mean 'fifo'"),
                            ("fifo:privat=1", "did you mean 'private'"),
                            ("fifo:private=5000", "out of range: 0 to 4096"),
                            ("fifo:private=many", "is no number"),
                            ("fifo:layout=round", "one of local|global"),
                            ("fifo,", "missing beside a comma"),
                            ("", "name at least one"),
                            ("fifo,fifo", "named twice"),
                            ("../nowhere", "there is no")):
            done = self.bind(spec)
            self.assertNotEqual(done.returncode, 0, spec)
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
