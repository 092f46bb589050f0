# SPDX-License-Identifier: MIT
"""Exit codes, the one exception that ends a verb with a line for people, and nearest names."""
from __future__ import annotations

import difflib
from typing import Iterable

GOOD, WRONG, USAGE, INCOMPLETE, UNSUPPORTED, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 77, 99, 130


class Stop(Exception):
    """Ends the verb: the message is one line that says what to do, the code is the exit code."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code


def nearest(name: str, valid: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the nearest valid one, else all of them."""
    names = sorted(set(valid))
    if not names:
        return "there is none"
    whatever_case = {n.lower(): n for n in names}
    cutoff = 0.5 if len(names) <= 12 else 0.0
    for close in difflib.get_close_matches(name.lower(), whatever_case, n=1, cutoff=cutoff):
        return f"nearest: {whatever_case[close]}"
    return "valid: " + ", ".join(names)
