# SPDX-License-Identifier: MIT
"""A bar with an estimate on a terminal, plain lines elsewhere; always on standard error."""
from __future__ import annotations

import re
import sys
import time
from typing import Any

from .plan import human
from .store import of_host


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Steps:
    """How far a build is: ninja's `[n/m]` in place on a terminal, a line now and then elsewhere."""

    EVERY_S = 20.0

    def __init__(self, name: str) -> None:
        self.name, self._shown = name, False
        self._terminal = sys.stderr.isatty()
        self._begin = self._last = time.monotonic()

    def tick(self, line: str) -> None:
        """`line`: the last one of the build's log."""
        now = time.monotonic()
        step = re.match(r"\[\d+/\d+\]", line)
        where = f"{step[0]} " if step else ""
        if self._terminal:
            sys.stderr.write(f"\r\033[K{where}{self.name}, {now - self._begin:.0f} s")
            sys.stderr.flush()
            self._shown = True
        elif now - self._last >= self.EVERY_S:
            self._last = now
            say(f"building {where}{self.name}, {now - self._begin:.0f} s so far")

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


class Progress:
    def __init__(self, count: int) -> None:
        self.count, self.done = count, 0
        self._told: set[str] = set()
        self._bar: Any = None
        if sys.stderr.isatty():
            from tqdm import tqdm
            tqdm.monitor_interval = 0
            self._bar = tqdm(total=count, unit="cell", file=sys.stderr, dynamic_ncols=True,
                             bar_format="{n_fmt}/{total_fmt} |{bar}| {elapsed}{postfix}")

    def say(self, text: str) -> None:
        if self._bar is not None:
            self._bar.write(text, file=sys.stderr)
        else:
            say(text)

    def begins(self, label: str, left: float) -> None:
        if self._bar is not None:
            self._bar.set_postfix_str(f"about {human(left)} left · {label}")

    def ended(self, label: str, row: dict[str, Any], left: float) -> None:
        """An optional peer that is skipped is told of once, not in each of its rows."""
        self.done += 1
        status, message = row["status"], row["message"]
        text = f"{label}: {status}" + (f": {message}" if message else f", {of_host(row, 'wall_s'):.1f} s")
        again = False
        if status == "skipped" and row["optional"]:
            text = f"{row['program']}: skipped: {message}"
            again = text in self._told
            self._told.add(text)
        if self._bar is not None:
            self._bar.update(1)
            if status != "ok" and not again:
                self._bar.write(text, file=sys.stderr)
        elif not again:
            rest = f"; about {human(left)} left" if self.done < self.count else ""
            say(f"[{self.done}/{self.count}] {text}{rest}")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
