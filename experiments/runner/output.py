# SPDX-License-Identifier: MIT
"""Where answers go: tried before the work begins, and what cannot be written is one line."""
from __future__ import annotations

import os
import sys
from pathlib import Path

from .errors import Stop


def _why(name: str, error: OSError) -> Stop:
    return Stop(f"cannot write {name}: {error.strerror or error}")


def tried(name: str) -> None:
    """Raises Stop where nothing can be written; leaves everything as it was.  Devices and pipes are only seen when used."""
    path = Path(name)
    try:
        new = not path.exists()
        if new or not (path.is_char_device() or path.is_block_device() or path.is_fifo()):
            with path.open("ab"):
                pass
        if new:
            path.unlink()
    except OSError as error:
        raise _why(name, error) from None


def write(name: str, data: str | bytes) -> None:
    """To the file, or to standard output where its name is -."""
    try:
        if name != "-":
            Path(name).write_bytes(data.encode() if isinstance(data, str) else data)
            return
        if sys.stdout is None:      # started with it closed; print() says nothing of that
            if data:
                raise Stop("cannot write standard output: it is closed")
            return
        sys.stdout.write(data if isinstance(data, str) else data.decode())
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if name == "-":         # what is left in its buffer is lost, and is not to be tried again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise _why("standard output" if name == "-" else name, error) from None


def write_all(outputs: list[tuple[str, str | bytes]], code: int) -> None:
    """Each, though one before it could not be written; then raises the first that could not, with this code if it is
    not that of success."""
    failed = None
    for name, data in outputs:
        try:
            write(name, data)
        except Stop as error:
            failed = failed or error
    if failed is not None:
        failed.code = code or failed.code
        raise failed
