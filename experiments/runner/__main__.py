# SPDX-License-Identifier: MIT
"""The verbs behind ./tenter, and the one place where errors become exit codes."""
from __future__ import annotations

import errno
import importlib
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from . import output, variables
from .errors import INTERNAL, INTERRUPTED, USAGE, Stop, nearest

ROOT = Path(__file__).resolve().parents[2]
#: verb -> module of this package, function
VERBS = {"run": ("run", "main"), "test": ("testing", "main"), "list": ("listing", "main"),
         "reproduce": ("reproduce", "main"), "plot": ("report", "plot_main"),
         "doctor": ("doctor", "main"), "check": ("check", "main"),
         "sim": ("sim", "main"), "model": ("model", "main")}


def main(argv: list[str]) -> int:
    verb, rest = argv[0], argv[1:]
    if verb not in VERBS:
        raise Stop(f"unknown verb '{verb}' ({nearest(verb, VERBS)})")
    ours = variables.check(ROOT, os.environ)
    if ours and verb in ("run", "reproduce"):
        print(f"note: {', '.join(sorted(ours))} will not reach the programs: what is measured is "
              "what the matrix says", file=sys.stderr)
    module, function = VERBS[verb]
    try:
        loaded = importlib.import_module(f"{__package__}.{module}")
    except ModuleNotFoundError as error:
        raise Stop(f"'{error.name}' is missing: ./tenter doctor says which package has it") \
            from error
    return int(getattr(loaded, function)(rest) or 0)


def _log() -> Path:
    """The traceback of an internal error goes to a file, not to the terminal."""
    for folder in (ROOT / "build", Path(tempfile.gettempdir())):
        path = folder / "tenter-error.txt"
        try:
            folder.mkdir(exist_ok=True)
            path.write_text(traceback.format_exc(), encoding="utf-8")
            return path
        except OSError:
            continue
    return Path(os.devnull)


def entry(argv: list[str]) -> int:
    for name in ("PYTHONPATH", "PYTHONSAFEPATH"):   # not for the programs that we start
        os.environ.pop(name, None)
    code = _coded(lambda: main(argv))
    last = _coded(lambda: output.write("-", ""))    # what --help, say, has left in the buffer
    return code or last


def _coded(work: Callable[[], int | None]) -> int:
    try:
        return work() or 0
    except Stop as error:
        print(f"tenter: {error}", file=sys.stderr)
        return error.code
    except SystemExit as error:                     # --help
        return error.code if isinstance(error.code, int) else USAGE
    except KeyboardInterrupt:
        print("tenter: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return USAGE
    except Exception as error:                      # pylint: disable=broad-except
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is in its buffer is lost
            print(f"tenter: cannot write: {error.strerror}", file=sys.stderr)
            return USAGE
        text = str(error).splitlines()[:1]
        print(f"tenter: internal error: {type(error).__name__}: {text[0] if text else ''} "
              f"(traceback in {_log()})", file=sys.stderr)
        return INTERNAL


if __name__ == "__main__":
    sys.exit(entry(sys.argv[1:]))
