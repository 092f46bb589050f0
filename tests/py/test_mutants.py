# SPDX-License-Identifier: MIT
"""dscheck/mutants: the checker without one of its rules must count wrongly, where the shipped one counts right."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

# pylint: disable=wrong-import-position
from dscheck.oracle.compare import text_of  # noqa: E402
from dscheck.oracle.generate import generate  # noqa: E402
from dscheck.oracle.search import interleave  # noqa: E402
from experiments.runner import check_build  # noqa: E402

RULES = ROOT / "dscheck" / "mutants" / "rules.yaml"
COMPILE = ["gcc", "-std=gnu17", "-O1", "-w", f"-I{ROOT}/dscheck"]


@unittest.skipUnless(os.uname().machine == "x86_64" and shutil.which("objdump"), "the explorer is for x86-64")
class Mutants(unittest.TestCase):
    folder: Path
    objects: dict[Path, Path]
    images: dict[str, Path]

    @classmethod
    def setUpClass(cls) -> None:
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        cls.objects, cls.images = {}, {}
        for number, source in enumerate(check_build.sources()):
            cls.objects[source] = cls.folder / f"{number}.o"
            subprocess.run([*COMPILE, "-c", str(source), "-o", str(cls.objects[source])], check=True)

    def checker(self, source: Path | None = None, text: str = "") -> Path:
        """The checker with this text in the place of one of its sources."""
        objects = dict(self.objects)
        if source is not None:
            changed, objects[source] = self.folder / source.name, self.folder / "changed.o"
            changed.write_text(text.replace('#include "../', f'#include "{ROOT}/'), encoding="utf-8")
            subprocess.run([*COMPILE, "-c", str(changed), "-o", str(objects[source])], check=True)
        out = self.folder / "checker"
        subprocess.run(["gcc", *map(str, objects.values()), *check_build.LINK, *check_build.aliases(), "-o", str(out)],
                       check=True)
        return out

    def program(self, row: dict[str, Any]) -> Path:
        """A golden one, or the enumerator's of a seed, which has counted its executions."""
        if "program" in row:
            return ROOT / "dscheck" / str(row["program"])
        source = generate(row["seed"])
        found = interleave(source.program())
        self.assertEqual(found.executions, row["executions"], "the generator has changed: look for other seeds")
        out = self.folder / f"seed-{row['seed']}.c"
        out.write_text(text_of(source, found, out.stem), encoding="utf-8")
        return out

    def image(self, row: dict[str, Any]) -> Path:
        macros = [f"-D{name}={value}" for name, value in row.get("macros", {}).items()]
        key = " ".join([str(row.get("program", row.get("seed"))), *macros])
        if key not in self.images:
            made = check_build.image([self.program(row)], macros)
            self.images[key] = self.folder / f"{len(self.images)}.so"
            shutil.move(made, self.images[key])
        return self.images[key]

    def says(self, checker: Path, row: dict[str, Any], seconds: int = 600) -> tuple[str, ...]:
        """The verdict, how many executions, how many blocked, how many graphs that were not consistent; a search that
        repeats itself need not end."""
        budget = str(3 * row["executions"] + 10)
        try:
            done = subprocess.run([str(checker), str(self.image(row)), *row.get("options", []), "--budget", budget],
                                  capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return ("none",)
        values = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
        return tuple(values.get(key, "") for key in ("verdict", "executions", "blocked", "discarded"))

    def right(self, row: dict[str, Any]) -> tuple[str, ...]:
        return "ok", str(row["executions"]), str(row.get("blocked", 0)), str(row.get("discarded", 0))

    def test_each_rule_is_needed(self) -> None:
        rows = yaml.safe_load(RULES.read_text(encoding="utf-8"))
        shipped = self.checker()
        for key in {(str(self.image(row)), *row.get("options", [])): row for row in rows}.values():
            self.assertEqual(self.says(shipped, key), self.right(key), key)
        for row in rows:
            with self.subTest(row["rule"]):
                source = ROOT / "dscheck" / row["file"]
                text = source.read_text(encoding="utf-8")
                self.assertEqual(text.count(row["was"]), 1, "it no longer applies: renew it")
                mutant = self.checker(source, text.replace(row["was"], row["becomes"]))
                self.assertNotEqual(self.says(mutant, row, 15), self.right(row))


if __name__ == "__main__":
    unittest.main()
