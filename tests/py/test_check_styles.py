# SPDX-License-Identifier: MIT
"""tests/check: programs as somebody writes them who has just read docs/checking.md; the first line says what is found."""
from __future__ import annotations

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
from checking import ROOT, Checking  # noqa: E402

PROGRAMS = sorted((ROOT / "tests" / "check").glob("*.c"))


class Styles(Checking):
    def test_each(self) -> None:
        self.assertGreater(len(PROGRAMS), 20)
        for file in PROGRAMS:
            with self.subTest(file.stem):
                said = re.match(r"/\* check: (ok|bug) ?(.*)\n", file.read_text(encoding="utf-8"))
                assert said is not None, f"{file} does not say what is found"
                answer = self.run_check(str(file))[1]
                self.assertEqual((answer["verdict"], answer["kind"] or ""), said.groups(), answer["message"])
                self.assertEqual(answer["warnings"], [])


if __name__ == "__main__":
    unittest.main()
