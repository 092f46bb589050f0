# SPDX-License-Identifier: MIT
"""Arguments of the verbs: argparse, whose errors are one line that says what to do."""
from __future__ import annotations

import argparse
from typing import Any, NoReturn

from . import output
from .errors import Stop, nearest


class Parser(argparse.ArgumentParser):
    """What is wrong ends the verb as any other error does, with the nearest valid word."""

    def __init__(self, verb: str, **more: Any) -> None:
        super().__init__(prog=f"./tenter {verb}", allow_abbrev=False, **more)

    def parse(self, argv: list[str]) -> argparse.Namespace:
        found, rest = self.parse_known_args(argv)
        for word in rest:
            if word.startswith("-"):
                name = word.partition("=")[0]
                known = [o for a in self._actions for o in a.option_strings]
                self.error(f"unknown option {name} ({nearest(name, known)})")
        if rest:
            self.error(f"'{rest[0]}' is one argument too many")
        return found

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, f"there is no '{value}' "
                                         f"({nearest(str(value), map(str, action.choices))})")

    def _print_message(self, message: str, file: Any = None) -> None:
        output.write("-", message)

    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ")
        raise Stop(f"{self.prog}: {message}; {self.prog} --help says more")
