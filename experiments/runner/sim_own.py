# SPDX-License-Identifier: MIT
"""A program of the user's own on simulated cores: one C file, compiled and linked as the tree's own programs are."""
from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from . import known
from .build import Builder, Variant, first_error
from .errors import Stop
from .progress import say

#: whose commands are taken for a pattern: a program that each build has, made of one file and the core
PATTERN = "config_main.c"


def named(word: str) -> bool:
    """A file, and no name of a workload?"""
    return word.endswith(".c") or "/" in word


def program(name: str, variant: Variant, builder: Builder) -> Path:
    """What the file makes with that variant of the core."""
    file = Path(name).resolve()
    if file.suffix != ".c":
        raise Stop(f"sim: {name}: a program is one C file, whose name ends in .c (it may include others)")
    try:
        with file.open("rb"):
            pass
    except OSError as error:
        raise Stop(f"sim: {name} cannot be read: {error.strerror}") from None
    built = builder.targets(variant, {"tenter-config": known.CONFIG})
    if built.problems:
        raise Stop(f"sim: the simulated core cannot be built: {built.problems['tenter-config']} (see {built.log})")
    folder = built.programs["tenter-config"].parents[1]
    said = subprocess.run(["ninja", "-t", "commands", known.CONFIG], cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    commands = [shlex.split(line) for line in said.stdout.splitlines()]
    compiles, links = next(c for c in commands if c[-1].endswith(PATTERN)), commands[-1]
    cut = min(compiles.index(option) for option in ("-MD", "-o"))       # before what is written, and where
    thing = compiles[compiles.index("-o") + 1]
    out = folder / "own" / f"{file.stem}-{hashlib.sha256(bytes(file)).hexdigest()[:8]}"
    try:
        out.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
            made, whole = f"{scratch}/own.o", f"{scratch}/own"
            _call([*compiles[:cut], "-fdiagnostics-color=never", "-o", made, "-c", str(file)], folder, name)
            _call([*({thing: made, known.CONFIG: whole}.get(word, word) for word in links), "-lm"], folder, name)
            os.replace(whole, out)
    except OSError as error:
        raise Stop(f"cannot build in {error.filename}: {error.strerror}") from error
    return out


def _call(command: list[str], folder: Path, name: str) -> None:
    """Warnings are shown; of what fails, one line."""
    with tempfile.TemporaryFile() as log:
        code = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False,
                              env={**os.environ, "LC_ALL": "C"}).returncode
        if code != 0:
            why = first_error(log).replace("`simulated_", "`")
            raise Stop(f"sim: {name}: {why}" + (" (what is simulated has no I/O)" if "tenter_io.h" in why else ""))
        log.seek(0)
        if text := log.read().decode(errors="replace").rstrip():
            say(text)
