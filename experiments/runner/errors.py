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
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    if close:
        return f"nearest: {close[0]}"
    if len(names) > 12:
        return f"nearest: {difflib.get_close_matches(name, names, n=1, cutoff=0.0)[0]}"
    return "valid: " + ", ".join(names)
