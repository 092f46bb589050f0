# SPDX-License-Identifier: MIT
"""A results folder: rows.jsonl, env.jsonl, run.json, the matrix, and the programs' output."""
from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
from pathlib import Path
from typing import Any, Iterator

from .errors import INCOMPLETE, Stop

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C waits until the block has ended."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK,
                                    {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


#: of a row: what depends on the machine that it ran on; of a simulated one it stands in sim.host
OF_HOST = ("rusage", "load", "steal_pct", "isolated", "started", "wall_s")


def of_host(row: dict[str, Any], key: str) -> Any:
    """One of OF_HOST; None where the row has none."""
    host = (row.get("sim") or {}).get("host") or {}
    return row[key] if key in row else host.get(key)


def read_lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The objects of a JSON Lines file, and the length of its whole lines in bytes.

    A last line that is torn (it has no newline) is left out; any other broken one is an error.
    """
    raw = path.read_bytes()
    whole = raw.rfind(b"\n") + 1
    out: list[dict[str, Any]] = []
    for number, line in enumerate(raw[:whole].split(b"\n")[:-1], 1):
        try:
            item = json.loads(line)
        except ValueError as error:
            raise Stop(f"{path}:{number}: broken line ({error}); mend or remove it, "
                       "nothing was changed") from error
        if not isinstance(item, dict):
            raise Stop(f"{path}:{number}: not a JSON object; mend or remove the line")
        out.append(item)
    return out, whole


class Results:
    """One runner at a time holds a folder; a row that was appended is never lost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: list[dict[str, Any]] = []
        self.torn = False
        self._fd = -1

    def __enter__(self) -> "Results":
        try:
            self._open()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _open(self) -> None:
        with self._telling("cannot be written to; name another folder with --out"):
            (self.folder / "output").mkdir(parents=True, exist_ok=True)
            path = self.folder / "rows.jsonl"
            self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Stop(f"another runner is at work in {self.folder}") from None
            self.rows, whole = read_lines(path)
            if os.fstat(self._fd).st_size > whole:
                self.torn = True
                os.ftruncate(self._fd, whole)

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def append(self, row: dict[str, Any]) -> None:
        """One write, then to the disk; what could not be written whole is taken back."""
        data = (json.dumps(row, allow_nan=False) + "\n").encode()
        with self._telling(), undisturbed():
            before = os.fstat(self._fd).st_size
            try:
                if os.write(self._fd, data) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(self._fd)
            except OSError:
                os.ftruncate(self._fd, before)
                raise
        self.rows.append(row)

    def output(self, name: str, data: bytes) -> str:
        """Keeps a program's output; returns its path inside the folder."""
        with self._telling():
            (self.folder / "output" / name).write_bytes(data)
        return f"output/{name}"

    def write(self, name: str, text: str) -> None:
        """Replaces a small file as a whole."""
        path = self.folder / name
        scratch = path.with_name(name + ".new")
        with self._telling():
            scratch.write_text(text, encoding="utf-8")
            os.replace(scratch, path)

    def environment(self, env: dict[str, Any]) -> None:
        """Adds a line to env.jsonl unless this very environment has one."""
        path = self.folder / "env.jsonl"
        lines, whole = read_lines(path) if path.exists() else ([], 0)
        if any(line.get("env_id") == env["env_id"] for line in lines):
            return
        with self._telling(), open(path, "ab") as file:
            file.truncate(whole)
            file.write((json.dumps(env) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())

    @contextlib.contextmanager
    def _telling(self, otherwise: str = "") -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in _FULL:
                raise Stop(f"{error.filename or self.folder}: {error.strerror}"
                           + (f": it {otherwise}" if otherwise else "")) from error
            raise Stop(f"the disk is full ({self.folder}): every finished cell is kept; free some "
                       f"space, then type  ./tenter run --resume {self.folder}",
                       INCOMPLETE) from error


def newest(results: Path, matrix: str) -> Path | None:
    """The newest folder of this matrix under `results`."""
    found = []
    for path in results.glob("*/run.json"):
        with contextlib.suppress(OSError, ValueError):
            said = json.loads(path.read_text(encoding="utf-8"))
            if said.get("matrix") == matrix and not path.parent.is_symlink():
                found.append((said.get("started", ""), path.parent))
    return max(found)[1] if found else None


def mark_latest(folder: Path, results: Path) -> None:
    """results/latest points to the newest run."""
    if folder.parent.resolve() != results.resolve():
        return
    scratch = results / f".latest-{os.getpid()}"
    with contextlib.suppress(OSError):
        scratch.symlink_to(folder.name)
        os.replace(scratch, results / "latest")
