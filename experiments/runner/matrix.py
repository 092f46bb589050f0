# SPDX-License-Identifier: MIT
"""A matrix: one YAML file an experiment, checked, and expanded into cells.

Cells are the cross product of `factors`, less `exclude`, plus the cross product of each group of
`include`. A factor is an option of the program (`workers: [1, 2]` is `--workers 1`, …) except
`program`, which names it, those under `build`, which are meson options, and those in capitals,
which are variables of the environment (`TENTER_STALL_MS: [0, 100]`). `scheduler` is both:
the module's name selects the build, the whole of `fifo:layout=global` is passed at run time.
"""
from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, Iterator

from .build import Variant
from .columns import HEAD, HIST, TAIL
from .errors import Stop, nearest
from .variables import PREFIX
from .yamlfile import YamlFile

SCHEMA = "experiments/matrices/schema.json"
QUICK_BLOCKS, QUICK_REPS = 3, 2
#: more would take days to run; a slip of the finger shall not take minutes to be told of
MOST_CELLS = 100_000
_RANGE = re.compile(r"^(\d+|(?:\d+\*)?cores)(?:\.\.(\d+|(?:\d+\*)?cores))?$")
#: options of every benchmark program that the runner gives itself
RESERVED = ("json", "hist", "list", "print-config", "seed", "reps", "warmup")

Value = Any
Group = dict[str, Any]


def usable_cores() -> int:
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Cell:
    """One point of the matrix; an invocation is a cell in a block."""

    program: str
    params: dict[str, Value]                    # the factors, `program` apart
    options: dict[str, Value]                   # fixed options of the program
    build: dict[str, str]                       # meson options, and `compiler`
    build_factors: tuple[str, ...] = ()         # those of `params` that are no program options
    reps: int = 1
    warmup: int = 0
    blocks: int = 1                             # invocations of this cell
    timeout: float = 120.0
    estimate: float | None = None
    optional: bool = False
    oversubscribed: bool = False
    where: tuple[Any, ...] = field(default=(), compare=False)

    def canonical(self) -> str:
        return json.dumps({"program": self.program, "params": self.params, "build": self.build,
                           "options": self.options, "reps": self.reps, "warmup": self.warmup},
                          sort_keys=True)

    def id(self, binary: str | None) -> str:
        text = self.canonical() + "\n" + (binary or "")
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def label(self) -> str:
        return " ".join([self.program] + [f"{k}={_text(v)}" for k, v in self.params.items()])

    def arguments(self, seed: int) -> list[str]:
        out = ["--json", "--hist", "--seed", str(seed), "--reps", str(self.reps),
               "--warmup", str(self.warmup)]
        for name, value in {**self.options, **self.params}.items():
            if name in self.build_factors or value is False or name.startswith(PREFIX):
                continue
            flag = "--" + name.replace("_", "-")
            if name == "scheduler":
                value = run_time_spec(str(value))
            out += [flag] if value is True else [flag, _text(value)]
        return out

    def variables(self) -> dict[str, str]:
        """Factors that are variables of the environment: knobs that the program has no option for."""
        return {n: _text(v) for n, v in {**self.options, **self.params}.items()
                if n.startswith(PREFIX)}


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _simulated(build: dict[str, Value]) -> bool:
    return build.get("runtime") == "sim"


def module_of(spec: str) -> str:
    """The module's name, or its directory, in `fifo:layout=global`."""
    return spec.split(":", 1)[0]


def run_time_spec(spec: str) -> str:
    """A module outside the tree is built by its directory and named by that one's last part."""
    module, *rest = spec.split(":", 1)
    return ":".join([Path(module).name, *rest])


@dataclass
class Matrix:
    name: str
    title: str
    row: str | None
    blocks: int
    seed: int
    order: str
    figures: list[str]
    cells: list[Cell]
    notes: list[str]
    file: YamlFile

    @property
    def path(self) -> Path:
        return self.file.path

    def variant(self, cell: Cell) -> Variant:
        """What the cell is built as; one that names no module, with the first that another names."""
        named = (c.build["schedulers"] for c in self.cells if "schedulers" in c.build)
        return Variant.of({"schedulers": next(named, "fifo"), **cell.build})


def find(root: Path, name: str) -> Path:
    """A matrix by its name or by a path."""
    folder = root / "experiments" / "matrices"
    inside = folder / f"{name}.yaml"
    if "/" not in name and inside.is_file():
        return inside
    outside = Path(name)
    if outside.is_file():
        return outside
    if "/" in name or name.endswith((".yaml", ".yml")):
        raise Stop(f"{name}: no such matrix file")
    raise Stop(f"unknown matrix '{name}' ({nearest(name, names(root))})")


def names(root: Path) -> list[str]:
    return sorted(p.stem for p in (root / "experiments" / "matrices").glob("*.yaml"))


def load(root: Path, path: Path, quick: bool = False, cores: int | None = None,
         home: Path | None = None) -> Matrix:
    """`home` is the folder that relative paths of modules start from; the file's by default."""
    file = YamlFile(path)
    file.check(root / SCHEMA)
    data: dict[str, Any] = dict(file.data)
    if quick:
        short = data.get("quick", {})
        turns = data.get("reps", 5) + data.get("warmup", 1)
        data["blocks"] = short.get("blocks", min(data.get("blocks", 5), QUICK_BLOCKS))
        data["reps"] = short.get("reps", min(data.get("reps", 5), QUICK_REPS))
        data["warmup"] = short.get("warmup", data.get("warmup", 1))
        data["exclude"] = [*data.get("exclude", []), *short.get("exclude", [])]
        given = data.get("options", {})
        for group in [data, *data.get("include", [])]:      # whose programs may differ
            group["blocks"] = data["blocks"]
            mine = group.get("options", {})
            group["options"] = {**mine, **{n: v for n, v in short.get("options", {}).items()
                                           if n in mine or n in given}}
            if "estimate" in group:                         # which is that of all repetitions, at full length
                whole = {**given, **mine}.get("duration")
                length = float(group["options"].get("duration", whole)) / float(whole) if whole else 1.0
                group["estimate"] *= (data["reps"] + data["warmup"]) / turns * length
    expander = _Expander(file, data, cores or usable_cores(), home or path.resolve().parent)
    cells = expander.cells()
    if not cells:
        raise Stop(f"{path}: no cell is left: {'; '.join(expander.notes) or 'all are excluded'}")
    return Matrix(data["name"], data.get("title", data["name"]), data.get("row"), data.get("blocks", 5),
                  data.get("seed", 1), data.get("order", "blocks"), data.get("figures", []),
                  cells, expander.notes, file)


class _Expander:
    def __init__(self, file: YamlFile, data: dict[str, Any], cores: int, home: Path) -> None:
        self.file, self.data, self.cores, self.home = file, data, cores, home
        self.notes: list[str] = []

    def cells(self) -> list[Cell]:
        self._known_names()
        out: list[Cell] = []
        groups: list[tuple[Group, tuple[Any, ...]]] = []
        if "factors" in self.data:
            groups.append((self.data, ()))
        groups += [(g, ("include", i)) for i, g in enumerate(self.data.get("include", []))]
        for group, where in groups:
            out += self._group(group, where)
        unique: dict[str, Cell] = {}
        for cell in out:
            unique.setdefault(cell.canonical(), cell)
        return list(unique.values())

    def _known_names(self) -> None:
        """What `exclude` names must be a factor somewhere, and options of `quick` an option."""
        known, options = {"program"} | set(self.data.get("build", {})), set()
        for group in [self.data, *self.data.get("include", [])]:
            known |= set(group.get("factors", {})) | set(group.get("build", {}))
            options |= set(group.get("options", {}))
        quick = self.file.data.get("quick", {})
        for name in quick.get("options", {}):
            if name not in options:
                raise self.file.error(["quick", "options", name], f"'{name}' is no option of this "
                                      "matrix, which quick could change")
        for where, entries in ((["exclude"], self.file.data.get("exclude", [])),
                               (["quick", "exclude"], quick.get("exclude", []))):
            for index, entry in enumerate(entries):
                for name in entry:
                    if name not in known:
                        raise self.file.error([*where, index, name],
                                              f"unknown factor '{name}' ({nearest(name, known)})")

    def _values(self, value: Value, where: list[Any]) -> list[Value]:
        out: list[Value] = []
        for item in value if isinstance(value, list) else [value]:
            match = _RANGE.match(item) if isinstance(item, str) else None
            if match is None:
                out.append(item)
                continue
            low = self._count(match[1])
            high = low if match[2] is None else self._count(match[2])
            if high < low:
                raise self.file.error(where, f"the range {item} is empty")
            if high - low >= MOST_CELLS:
                raise self.file.error(where, f"the range {item} has {high - low + 1} values, and a "
                                      f"matrix at most {MOST_CELLS} cells")
            out += range(low, high + 1)
        out = list(dict.fromkeys(out))
        if all(isinstance(v, int) and not isinstance(v, bool) for v in out):
            out.sort()
        return out

    def _count(self, text: str) -> int:
        if text.endswith("cores"):
            return self.cores * int(text[:-len("*cores")] or 1) if "*" in text else self.cores
        return int(text)

    def _group(self, group: Group, where: tuple[Any, ...]) -> Iterator[Cell]:
        get: dict[str, Any] = {**self.data, **group}
        factors = dict(group["factors"])
        if "program" not in factors:
            if "program" not in self.data:
                raise self.file.error([*where, "factors"], "no program: neither a factor nor "
                                      "'program' names one")
            factors = {"program": self.data["program"], **factors}
        build = {**self.data.get("build", {}), **group.get("build", {})}
        both = [n for n in factors if n in build]
        if both:
            raise self.file.error([*where, "factors", both[0]],
                                  f"'{both[0]}' is a build option and a factor")
        lists = {n: self._values(v, [*where, "build", n]) for n, v in build.items()}
        vary = tuple(n for n, v in lists.items() if isinstance(build[n], list))
        options = {**self.data.get("options", {}), **group.get("options", {})}
        self._reserved(factors, [*where, "factors"])
        for name in factors:                    # what a predicate names so would not be the factor
            if name in HEAD + TAIL + HIST and name != "program":
                raise self.file.error([*where, "factors", name], f"'{name}' cannot be a factor: "
                                      "results have a column of that name (docs/results.md)")
        self._reserved(options, [*where, "options"])
        table = {n: self._values(v, [*where, "factors", n]) for n, v in factors.items()}
        table.update({n: lists[n] for n in vary})
        fixed = {n: v[0] for n, v in lists.items()}
        number = math.prod(len(v) for v in table.values())
        if number > MOST_CELLS:
            raise self.file.error([*where, "factors"], f"{number} cells: a matrix has at most "
                                  f"{MOST_CELLS}")
        for values in itertools.product(*table.values()):
            point = dict(zip(table, values))
            if self._excluded(point) or self._too_many(point, fixed, get):
                continue
            yield self._cell(point, fixed, vary, options, get, where)

    def _reserved(self, names_: Iterable[str], where: list[Any]) -> None:
        for name in names_:
            if name.replace("_", "-") in RESERVED:
                raise self.file.error([*where, name], f"'{name}' is given by the runner itself "
                                      "(reps, warmup and seed are keys of the matrix)")

    def _excluded(self, point: dict[str, Value]) -> bool:
        def matches(entry: dict[str, Value]) -> bool:
            return all(n in point and point[n] in self._values(v, ["exclude"])
                       for n, v in entry.items())
        return any(matches(entry) for entry in self.data.get("exclude", []))

    def _too_many(self, point: dict[str, Value], fixed: dict[str, Value], get: Group) -> bool:
        workers = point.get("workers")
        if _simulated({**fixed, **point}):      # the machine says how many cores there are
            return False
        if not isinstance(workers, int) or workers <= self.cores or get.get("oversubscribed"):
            return False
        note = (f"workers above {self.cores}, the cores of this machine, are left out "
                "(no 'oversubscribed: true')")
        if note not in self.notes:
            self.notes.append(note)
        return True

    def _cell(self, point: dict[str, Value], fixed: dict[str, Value], vary: tuple[str, ...],
              options: dict[str, Value], get: Group, where: tuple[Any, ...]) -> Cell:
        build = {n: _text(point.get(n, v)) for n, v in fixed.items()}
        params = {n: v for n, v in point.items() if n != "program"}
        if "scheduler" in params:
            spec = str(params["scheduler"])
            module, *rest = spec.split(":", 1)
            if "/" in module:
                module = str((self.home / module).resolve())
                params["scheduler"] = ":".join([module, *rest])
            build.setdefault("schedulers", module)
        workers = params.get("workers", options.get("workers"))
        return Cell(str(point["program"]), params, options, build, vary,
                    self.data.get("reps", 5), self.data.get("warmup", 1), get.get("blocks", 5),
                    float(get.get("timeout", 120)), get.get("estimate"),
                    bool(get.get("optional", False)),
                    isinstance(workers, int) and workers > self.cores and not _simulated(build),
                    where)
