# SPDX-License-Identifier: MIT
"""Build variants: one meson build folder for each set of options, made once and kept warm."""
from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Callable, Protocol

from experiments.runner.errors import Stop

WORKLOADS = "experiments/workloads"
_ERROR = re.compile(r"(?:^|\s)(?:fatal error|error|ERROR|undefined reference to)\b:?")


@dataclass(frozen=True)
class Variant:
    """Meson options and a compiler (None: the default one)."""

    options: tuple[tuple[str, str], ...]
    compiler: str | None = None

    @staticmethod
    def of(build: dict[str, str]) -> "Variant":
        options = tuple(sorted((k, v) for k, v in build.items() if k != "compiler"))
        return Variant(options, build.get("compiler"))

    def asked(self) -> dict[str, str | None]:
        """As a row records it."""
        return {**dict(self.options), "compiler": self.compiler}

    @property
    def name(self) -> str:
        digest = hashlib.sha256(json.dumps([self.options, self.compiler]).encode()).hexdigest()
        modules = dict(self.options).get("schedulers", "default")
        word = "-".join(Path(re.split("[:]", m)[0]).name for m in modules.split(","))
        return f"{word[:40]}-{digest[:8]}"


@dataclass
class Build:
    """What became of the programs of a variant: a path, or one line of why there is none."""

    programs: dict[str, Path] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)       # of `problems`: the variant has no such
    log: Path | None = None


class Builder(Protocol):
    def targets(self, variant: Variant, wanted: dict[str, str]) -> Build: ...


def build(builder: Builder, variant: Variant, programs: list[str]) -> Build:
    """Benchmark programs of a variant, by name."""
    return builder.targets(variant, {p: f"{WORKLOADS}/{p}" for p in programs})


class Steps(Protocol):
    """Is told once a second what a build does (progress.Steps)."""

    def tick(self, line: str) -> None: ...

    def close(self) -> None: ...


class Quiet:
    """Steps that nobody is told of."""

    def __init__(self, name: str) -> None:
        pass

    def tick(self, line: str) -> None:
        pass

    def close(self) -> None:
        pass


class MesonBuilder:
    def __init__(self, root: Path, out: Path | None = None,
                 say: Callable[[str], None] = lambda text: None,
                 steps: Callable[[str], Steps] = Quiet) -> None:
        self.root, self.say, self.steps = root, say, steps
        self.out = out or root / "build" / "variants"

    def folder(self, variant: Variant) -> Path:
        return self.out / variant.name

    def targets(self, variant: Variant, wanted: dict[str, str]) -> Build:
        """Builds the meson targets `wanted` (name -> path in the build folder)."""
        folder = self.folder(variant)
        result = Build(log=folder / "tenter-build.log")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            opened = open(folder / "tenter-build.log", "w+b")
        except OSError as error:
            raise Stop(f"cannot build in {error.filename}: {error.strerror}") from error
        with opened as log:
            try:
                self._targets(variant, wanted, result, log)
            except FileNotFoundError as error:
                result.problems = {p: f"{error.filename} is not installed" for p in wanted}
        return result

    def _targets(self, variant: Variant, wanted: dict[str, str], result: Build,
                 log: BinaryIO) -> None:
        folder = self.folder(variant)
        if not (folder / "build.ninja").exists():
            self.say(f"setting up {folder.name}")
            if self._call(self._setup(variant), log, self._environment(variant)) != 0:
                line = first_error(log)
                shutil.rmtree(folder / "meson-private", ignore_errors=True)
                result.problems = {p: line for p in wanted}
                return
        ninja = ["ninja", "-C", str(folder)]
        if self._call([*ninja, "build.ninja"], log) != 0:
            result.problems = {p: first_error(log) for p in wanted}
            return
        known = subprocess.run([*ninja, "-t", "targets", "all"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, check=False).stdout
        there = {line.rsplit(":", 1)[0] for line in known.splitlines()}
        for program, path in wanted.items():
            if path not in there:
                result.problems[program] = f"there is no program '{program}' in this build"
                result.absent.add(program)
        paths = {p: t for p, t in wanted.items() if t in there}
        if not paths:
            return
        if self._call([*ninja, *paths.values()], log) == 0:
            result.programs = {p: folder / t for p, t in paths.items()}
            return
        for program, path in paths.items():         # which of them is it?
            start = log.tell()
            if self._call([*ninja, path], log) == 0:
                result.programs[program] = folder / path
            else:
                result.problems[program] = first_error(log, start)

    def _setup(self, variant: Variant) -> list[str]:
        quicker = ["-Dtests=false"] if "tests" in option_names(self.root) else []
        return ["meson", "setup", str(self.folder(variant)), str(self.root), *quicker,
                *(f"-D{name}={value}" for name, value in variant.options)]

    def _environment(self, variant: Variant) -> dict[str, str]:
        env = dict(os.environ)
        if variant.compiler:
            env["CC"] = variant.compiler
        return env

    def _call(self, command: list[str], log: BinaryIO, env: dict[str, str] | None = None) -> int:
        log.write(("$ " + " ".join(command) + "\n").encode())
        log.flush()
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                              stderr=subprocess.STDOUT, env=env) as child:
            steps = self.steps(Path(log.name).parent.name)
            try:
                while True:
                    try:
                        code = child.wait(1.0)
                        break
                    except subprocess.TimeoutExpired:
                        steps.tick(last_line(Path(log.name)))
            except BaseException:
                child.kill()
                raise
            finally:
                steps.close()
        log.seek(0, os.SEEK_END)
        return code


def last_line(path: Path) -> str:
    """The last whole line of a log that another process writes."""
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
        lines = file.read().decode(errors="replace").split("\n")[:-1]
    return lines[-1] if lines else ""


def first_error(log: BinaryIO, start: int = 0) -> str:
    """The first line of a build's output that says what is wrong."""
    log.seek(start)
    lines = log.read().decode(errors="replace").splitlines()
    log.seek(0, os.SEEK_END)
    said = [x.strip() for x in lines if x.strip() and not x.startswith("$ ")]
    for line in said:
        if _ERROR.search(line):
            return line
    return said[-1] if said else "the build failed and said nothing"


def digest(path: Path) -> str:
    """The binary's identity: what its bytes are."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


def option_names(root: Path) -> list[str]:
    """The names in meson_options.txt; empty where there is no such file."""
    path = root / "meson_options.txt"
    if not path.exists():
        return []
    return re.findall(r"^\s*option\s*\(\s*'([^']+)'", path.read_text(encoding="utf-8"), re.M)
