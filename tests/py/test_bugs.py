# SPDX-License-Identifier: MIT
"""dscheck/bugs: each file is what its row in the table says, and its repaired twin is good."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
BUGS = ROOT / "dscheck" / "bugs"
WARNINGS = ("-std=c17", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")


class Row(NamedTuple):
    name: str
    options: list[str]
    finds: str


def table() -> list[Row]:
    rows = []
    for line in (BUGS / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            rows.append(Row(cells[0], cells[2].split(), cells[3]))
    return rows


class Bugs(unittest.TestCase):
    def test_each_file_has_a_row(self) -> None:
        self.assertEqual(sorted(row.name for row in table()), sorted(p.stem for p in BUGS.glob("*.c")))

    def test_they_compile_and_the_repaired_ones_run(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            exe = str(Path(folder) / "bug")
            for row in table():
                for macros in ([], ["-DREPAIRED"]):
                    subprocess.run([os.environ.get("CC", "cc"), *WARNINGS, *macros,
                                    str(BUGS / f"{row.name}.c"), "-o", exe, "-pthread"], check=True)
                for _ in range(20):
                    subprocess.run([exe], check=True, timeout=60)

    def check(self, row: Row, *macros: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([str(ROOT / "tenter"), "check", str(BUGS / f"{row.name}.c"), *row.options,
                                   "--json", "-", "--", *macros], cwd=folder, capture_output=True, text=True,
                                  check=False)
        out = json.loads(done.stdout)
        assert isinstance(out, dict)
        return out

    def test_the_checker_finds_each_and_passes_the_repaired(self) -> None:
        if subprocess.run([str(ROOT / "tenter"), "check", "--help"], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("there is no './tenter check' here yet")
        for row in table():
            with self.subTest(row.name):
                out = self.check(row)
                self.assertEqual((out["verdict"], out.get("kind") or out["message"].split(":")[0]),
                                 ("bug", row.finds))
                out = self.check(row, "-DREPAIRED")
                self.assertEqual((out["verdict"], out["blocked"]), ("ok", 0), out["message"])
                self.assertGreater(out["executions"], 1)


if __name__ == "__main__":
    unittest.main()
