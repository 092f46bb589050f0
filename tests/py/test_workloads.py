# SPDX-License-Identifier: MIT
"""docs/workloads.md: a section a program, with what each has, and each option of its own named in it."""
from __future__ import annotations

import re
import unittest

from fake_tree import ROOT

from experiments.runner import known

SOURCES = ROOT / "experiments" / "workloads"
SERVERS = ROOT / "experiments" / "servers"
HAS = ("What", "Why", "Parameters", "Clock", "What is wrong with it")
OPTION = re.compile(r'"([a-z][a-z0-9-]*)",\s*BENCH_(?:INT|REAL|FLAG|TEXT|CHOICE|LIST)\b')


def sections() -> dict[str, str]:
    """The text of the section of each program that a heading names."""
    text = (ROOT / "docs" / "workloads.md").read_text(encoding="utf-8")
    out = {}
    for part in text.split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        out.update({name: body for name in re.findall("`([^`]+)`", heading)})
    return out


MACRO = re.compile(r"#define (\w+)(?:[^\n]*\\\n)*[^\n]*")


def options(program: str) -> set[str]:
    """Those that its source has a row for, itself or by a macro of a header beside it that is not everybody's."""
    service, _, front = program.partition("-")
    files = [SOURCES / f"{program}.c"]
    if (SERVERS / f"{service}.c").exists():
        files += [SERVERS / f"{part}.c" for part in (service, front or "fibre", "server")]
    text = "".join(p.read_text(encoding="utf-8") for p in files if p.exists())
    for header in SOURCES.glob("*.h"):
        for macro in MACRO.finditer(header.read_text(encoding="utf-8")):
            if re.search(rf"\b{macro[1]}\b", text):
                text += macro[0]
    return set(OPTION.findall(text.replace("\\\n", " ")))


class Documented(unittest.TestCase):
    def test_a_section_a_program(self) -> None:
        self.assertEqual([p for p in known.sources(ROOT) if p not in sections()], [])
        for program, body in sections().items():
            self.assertEqual(re.findall(r"^\*\*([^*]+)\.\*\*", body, re.MULTILINE)[:len(HAS)], list(HAS), program)

    def test_each_option_is_named(self) -> None:
        self.assertLess({"long-every", "clock"}, options("packet-pthread"))
        self.assertIn("idle", options("arrivals"))
        self.assertEqual(options("micro-pthread"), {"case", "ms", "depth"})
        self.assertIn("wait-by", options("mixer"))
        self.assertLess({"files", "copies", "port"}, options("httpd-event"))
        for program, body in sections().items():
            self.assertEqual([o for o in sorted(options(program)) if f"`--{o}`" not in body and f"`--{o} " not in body], [],
                             program)


if __name__ == "__main__":
    unittest.main()
