# SPDX-License-Identifier: MIT
"""Cases by name, their twins, many at once; what is asked of one program is refused of several."""
from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import unittest
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
from checking import ROOT, Checking  # noqa: E402

from experiments.runner import check, check_cases  # noqa: E402
from experiments.runner.errors import Stop  # noqa: E402


class Cases(Checking):
    def verb(self, *argv: str) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = check.main(list(argv))
        return code, out.getvalue()

    def test_each_twin_has_a_case(self) -> None:
        said = self.verb("--list")[1].splitlines()
        cases = check_cases.every() + check_cases.large()
        twins = [f"{case.file.stem}-{twin}" for case in cases for twin in case.twins()]
        self.assertEqual(sorted(twins), sorted(p.stem for p in (check_cases.CASES / "twins").glob("*.patch")))
        self.assertEqual(len(said), len(cases))
        self.assertEqual([c.name for c in cases if len(c.twins()) < 2], [])
        line = next(x for x in said if x.startswith("queue:mpmc-ring "))
        self.assertIn("debt-forgotten", line)
        self.assertNotIn("overwrites", line)        # it is queue:mpmc-ring-full's

    def test_readme_tells_all(self) -> None:
        text = (check_cases.CASES / "README.md").read_text(encoding="utf-8")
        told = {"small": text[:text.index("## What is too large")], "large": text[text.index("## What is too large"):]}
        for size, cases in (("small", check_cases.every()), ("large", check_cases.large())):
            rows = [line.split("|")[1] for line in told[size].splitlines() if line.startswith("| `")]
            patterns = [p for row in rows for p in re.findall("`([^`]+)`", row)]
            stems = [c.file.stem for c in cases]
            self.assertEqual([s for s in stems if not any(fnmatch(s, p) for p in patterns)], [], size)
            self.assertEqual([p for p in patterns if not any(fnmatch(s, p) for s in stems)], [], size)

    def test_ways_to_yield(self) -> None:
        """Row M4.4: the explorer finds the livelocks, and none in the ways that have none."""
        ways: dict[str, list[str]] = {"parts:yields-yielders": ["stays-on-top", "popped-first"], "parts:yields-swap": [],
                                      "parts:yields-elsewhere": ["naive-preference", "swapped-here"]}
        for case, twins in ways.items():
            code, answer, _ = self.run_check(case)
            self.assertEqual((code, answer["verdict"]), (0, "ok"), case)
            for twin in twins:
                code, answer, _ = self.run_check(case, "--twin", twin)
                self.assertEqual((code, answer["kind"]), (1, "unbounded loop"), twin)

    def test_one_by_name(self) -> None:
        code, answer, out = self.run_check("queue:mpmc-ring")
        self.assertEqual((code, answer["verdict"]), (0, "ok"))
        self.assertTrue(out.startswith("queue:mpmc-ring: ok under sc"), out)
        code, answer, out = self.run_check("queue:mpmc-ring", "--twin", "debt-forgotten")
        self.assertEqual((code, answer["kind"]), (1, "assertion"))
        self.assertIn("(dscheck/cases/mpmc-case.h:", answer["message"])
        self.assertIn("to run it again: ./tenter check queue:mpmc-ring --twin debt-forgotten --replay", out)
        code, again, _ = self.run_check("queue:mpmc-ring", "--twin", "debt-forgotten", "--replay", str(self.at / "a.replay"))
        self.assertEqual((code, again["message"]), (1, answer["message"]))

    def test_several(self) -> None:
        said = str(self.at / "said.json")
        code, out = self.verb("queue:mpmc-ring", "queue:mpmc-ring", "--jobs", "2", "--budget", "60s", "--json", said)
        self.assertEqual(code, 0, out)
        self.assertRegex(out, r"(?m)^queue:mpmc-ring +ok +\d+")
        self.assertEqual(out.count("queue:mpmc-ring  ok"), 2)
        self.assertIn("under sc: 2 ok", out)
        cases = json.loads(Path(said).read_text(encoding="utf-8"))["cases"]
        self.assertEqual([(c["name"], c["verdict"]) for c in cases], [("queue:mpmc-ring", "ok"), ("queue:mpmc-ring", "ok")])
        self.assertEqual(self.verb("queue:mpmc-ring", "queue:mpmc-ring", "--budget", "1")[0], 3)

    def test_a_pattern(self) -> None:
        """What the docs call the cases io-level*: each of them; one that matches once is that case."""
        said = str(self.at / "cases.json")
        code, out = self.verb("io-level*", "--budget", "60s", "--json", said)
        self.assertEqual(code, 0, out)
        names = [c["name"] for c in json.loads(Path(said).read_text(encoding="utf-8"))["cases"]]
        self.assertEqual(names, [c.name for c in check_cases.every() if c.name.startswith("io:level")])
        self.assertGreater(len(names), 2)
        self.assertEqual(check_cases.matching(["queue:mpmc-r*g", "x*.c", "io_level"]), ["queue:mpmc-ring", "x*.c", "io_level"])

    def test_all_twins_of_a_case(self) -> None:
        code, out = self.verb("queue:mpmc-ring", "--twin", "all", "--jobs", "2")
        self.assertEqual(code, 0, out)
        self.assertRegex(out, r"under sc: \d+ caught\n")
        # a bound that finds nothing is not a twin caught
        code, out = self.verb("queue:mpmc-ring", "--twin", "all", "--budget", "1")
        self.assertEqual(code, 3, out)

    def test_refusals(self) -> None:
        for argv, why in ((["queue:mpmc-rng"], "nearest: queue:mpmc-ring"), (["io-nothing*"], "no case is like"), (["queue:mpmc-ring", "--twin", "debt"], "debt-forgotten"),
                          (["--twin", "x"], "which case"), (["queue:mpmc-ring", "queue:spinlock", "--picture", "x.dot"], "one program"),
                          ([str(ROOT / "dscheck/golden/inc.c"), "--twin", "x"], "which case")):
            with self.assertRaises(Stop) as caught:
                self.verb(*argv)
            self.assertIn(why, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
