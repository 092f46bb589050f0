# SPDX-License-Identifier: MIT
"""The environment variables TENTER_…: the library's, as core/config.c has them, and no others."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Iterable

from .errors import Stop, nearest

PREFIX = "TENTER_"


def known(root: Path) -> tuple[list[str], list[str]]:
    """The names, and how the names of families (of the tests, say) begin."""
    text = (root / "core/config.c").read_text(encoding="utf-8")
    lists = dict(re.findall(r"\b(variables|families)\[\] = ([^;]*);", text))
    knobs = [knob.upper() for knob in re.findall(r"\bK\((\w+),", text)]
    others = re.findall(r'\.name = "(\w+)"', lists["variables"])
    return ([PREFIX + n for n in knobs + others],
            [PREFIX + n for n in re.findall(r'"(\w+)"', lists["families"])])


def check(root: Path, environment: Iterable[str]) -> list[str]:
    """Ends with the nearest name at one that nobody reads, as tn_start does. Returns those for the
    library."""
    names, families = known(root)
    ours = [n for n in environment
            if n.startswith(PREFIX) and not n.startswith(tuple(families))]
    for name in ours:
        if name not in names:
            raise Stop(f"no variable '{name}' ({nearest(name, names)}); unset it")
    return ours
