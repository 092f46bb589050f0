# SPDX-License-Identifier: MIT
"""What there is to choose from: modules and knobs (as the C side says), programs and options."""
from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from . import variables
from .build import WORKLOADS, Builder, Variant, build, option_names
from .errors import USAGE, Stop, nearest
from .matrix import Cell, Matrix, module_of

CONFIG = "core/tenter-config"
MACHINES = "sim/machines"
#: variables that only simulated cells have, and what they may be; None: see there
_SIMULATED = {"TENTER_MACHINE": None, "TENTER_CORES": [1, 256], "TENTER_CAPACITIES": [0, 1], "TENTER_SMT": [0, 1]}
_SUFFIX = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_MAIN = re.compile(r"^(?:int main\s*\(|func main\(\))", re.MULTILINE)

_SERVICE = re.compile(r"^const struct service service\b", re.MULTILINE)
#: of the servers: by fibres, loops, threads
_FRONTS = ("", "-event", "-pthread")


def modules(root: Path) -> list[str]:
    """The modules of the tree: each directory of schedulers/ with a C file of its name."""
    return sorted(p.name for p in (root / "schedulers").glob("*")
                  if (p / f"{p.name}.c").exists() and p.name != "parts")


def pollers(root: Path) -> list[str]:
    """Those of the tree; a build has one."""
    return sorted(p.stem for p in (root / "io/pollers").glob("*.c"))


def sources(root: Path) -> list[str]:
    """Names of benchmark programs: from their sources with a main, and of each service with each front-end."""
    folder = root / WORKLOADS
    found = [p for kind in ("*.c", "*.cpp", "*.cc", "*.go") for p in folder.glob(kind)]
    own = [p.stem for p in found if _MAIN.search(p.read_text(errors="replace"))]
    services = [p.stem for p in (root / "experiments/servers").glob("*.c") if _SERVICE.search(p.read_text(errors="replace"))]
    return sorted(own + [name + front for name in services for front in _FRONTS])


def everything(root: Path) -> Variant:
    """The variant that has every module of the tree, and so answers for all of them."""
    return Variant((("schedulers", ",".join(modules(root))),))


def config(root: Path, builder: Builder, variant: Variant | None = None) -> dict[str, Any]:
    """What tenter-config prints: every module (of the tree, or of this variant) and poller with its
    knobs."""
    built = builder.targets(variant or everything(root), {"tenter-config": CONFIG})
    if built.problems:
        raise Stop(f"tenter-config cannot be built: {built.problems['tenter-config']} "
                   f"(see {built.log})", USAGE)
    return _json_of([str(built.programs["tenter-config"])])


def _json_of(command: list[str]) -> dict[str, Any]:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Stop(f"{' '.join(command)}: {error}", USAGE) from error
    try:
        said = json.loads(done.stdout)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise Stop(f"{' '.join(command)} printed no JSON: {last[0] if last else 'nothing'}", USAGE)
    return said


def said_of(program: Path) -> dict[str, Any]:
    """What the program's --list says: {"about", "options": [{"name", "range", …}], …}."""
    said = _json_of([str(program), "--list"])
    options = said.get("options")
    if not isinstance(options, list) or not all("name" in o for o in options):
        raise Stop(f"{program} --list has no list of options", USAGE)
    return said


def options_of(program: Path) -> list[dict[str, Any]]:
    """The program's options, as its --list says."""
    return list(said_of(program)["options"])


# -- values ---------------------------------------------------------------------------------------

def range_text(entry: dict[str, Any]) -> str:
    span = entry.get("range") or entry.get("items")
    if isinstance(span, list) and span:
        numeric = len(span) == 2 and all(isinstance(x, (int, float)) for x in span)
        return "..".join(map(_plain, span)) if numeric else "|".join(map(str, span))
    return str(span) if span not in (None, "") else "any"


def _plain(value: float) -> str:
    """Without the exponent that a large whole number would have."""
    return str(int(value)) if value == int(value) else str(value)


def _number(text: str) -> float | None:
    match = re.fullmatch(r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)([kmg]?)", text.strip().lower())
    return float(match[1]) * _SUFFIX[match[2]] if match else None


def misfit(value: Any, entry: dict[str, Any]) -> str | None:
    """Why the value is outside what `range` says; None when it fits or nothing is known."""
    span, text = range_text(entry), str(value)
    bounds = re.fullmatch(r"\s*\[?\s*(\S+?)\s*(?:\.\.|,)\s*(\S*?)\s*\]?\s*", span)
    if bounds and _number(bounds[1]) is not None:
        low, high, given = _number(bounds[1]), _number(bounds[2]), _number(text)
        if given is None:
            return f"'{text}' is not a number (range: {span})"
        if given < (low or 0) or (high is not None and given > high):
            return f"{text} is out of range ({span})"
    elif "|" in span:
        choices = [c.strip() for c in span.split("|")]
        for item in text.split(",") if entry.get("type") == "list" else [text]:
            if item not in choices:
                return f"'{item}' is none of {span} ({nearest(item, choices)})"
    return None


# -- checks of a matrix ---------------------------------------------------------------------------

def check_names(root: Path, matrix: Matrix) -> None:
    """Programs, modules, build options, figures by name."""
    there, programs = modules(root), sources(root)
    build_options = option_names(root) + ["compiler"]
    figures = [p.stem for p in (root / "plots").glob("*.py")]
    for index, name in enumerate(matrix.figures):
        if figures and not any(f == name or f.endswith("_" + name) for f in figures):
            raise matrix.file.error(["figures", index], f"unknown figure '{name}' "
                                    f"({nearest(name, figures)})")
    for cell in matrix.cells:
        if programs and cell.program not in programs:
            raise _error(matrix, cell, "program", f"unknown program '{cell.program}' "
                         f"({nearest(cell.program, programs)})")
        for name in cell.variables():
            library = variables.known(root)[0]
            if name not in library:
                raise _error(matrix, cell, name,
                             f"unknown variable '{name}' ({nearest(name, library)})")
        _check_machine(root, matrix, cell)
        for name in cell.build:
            if len(build_options) > 1 and name not in build_options:
                raise matrix.file.error(["build", name], f"unknown build option '{name}' "
                                        f"({nearest(name, build_options)})")
        if "scheduler" in cell.params:
            spec = str(cell.params["scheduler"])
            module, inside = module_of(spec), "/" not in spec.split(":", 1)[0]
            if inside and module not in [*there, "plugin"]:
                raise _error(matrix, cell, "scheduler",
                             f"unknown module '{module}' ({nearest(module, there)})")
            if not inside and not (Path(module) / f"{Path(module).name}.c").exists():
                raise _error(matrix, cell, "scheduler", f"{module} holds no module: "
                             f"{Path(module).name}.c is not there")


def _check_machine(root: Path, matrix: Matrix, cell: Cell) -> None:
    """Of a simulated cell, before minutes of building: what its program would refuse, each time."""
    given = {n: v for n, v in cell.variables().items() if n in _SIMULATED}
    for name, value in given.items():
        if cell.build.get("runtime") != "sim":
            raise _error(matrix, cell, name, f"{name} is for simulated cells, which have build: {{runtime: sim}}")
        fault = misfit(value, {"range": _SIMULATED[name]}) if _SIMULATED[name] else None
        if fault or _SIMULATED[name] and not value.isdigit():
            raise _error(matrix, cell, name, f"{name}: {fault or f'{value} is no whole number'}")
    machine = given.get("TENTER_MACHINE", "")
    there = [p.stem for p in (root / MACHINES).glob("*.yaml")]
    file = Path(machine) if "/" in machine else root / MACHINES / f"{machine}.yaml"
    if machine in ("", "host"):                     # what `host` is, is seen when it runs
        return
    if not file.exists():
        raise _error(matrix, cell, "TENTER_MACHINE", f"no machine '{machine}' ({nearest(machine, [*there, 'host'])}; a file of "
                     "your own has a slash in its name)")
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""     # else its program says what is wrong
    most = re.search(r"^cores: *(\d+)", text, re.MULTILINE)
    if most and int(given.get("TENTER_CORES", 1)) > int(most[1]):
        raise _error(matrix, cell, "TENTER_CORES", f"TENTER_CORES: {given['TENTER_CORES']}: the machine '{machine}' has {most[1]}")


def check_knobs(root: Path, builder: Builder, matrix: Matrix) -> None:
    """Every `knob=value` of every scheduler against the tables of the C side, which is built and
    asked only where there is one to be checked."""
    tables: dict[str, dict[str, Any] | None] = {}
    for cell in matrix.cells:
        module, *parts = str(cell.params.get("scheduler", "")).split(":")
        if parts and module not in tables:
            tables = {module: None, **_knobs(root, builder, module), **tables}
        table = tables.get(module)
        if table is None:
            continue
        for part in parts:
            name, equals, value = part.partition("=")
            if not equals:
                raise _error(matrix, cell, "scheduler",
                             f"'{part}' is no knob=value (as in {module}:n=64)")
            if name not in table:
                raise _error(matrix, cell, "scheduler", f"unknown knob '{name}' of {module} "
                             f"({nearest(name, table)})")
            fault = misfit(value, table[name])
            if fault:
                raise _error(matrix, cell, "scheduler", f"knob {name} of {module}: {fault}")


def _knobs(root: Path, builder: Builder, module: str) -> dict[str, dict[str, Any] | None]:
    """The knobs of all modules of the tree, or of one outside it; of that one none where it does
    not compile, which the rows of a run will say."""
    outside = "/" in module
    try:
        said = config(root, builder, Variant.of({"schedulers": module}) if outside else None)
    except Stop:
        if not outside:
            raise
        return {}
    own = {s["name"]: {k["name"]: k for k in s.get("knobs", [])} for s in said["schedulers"]}
    for preset in said.get("presets", []):
        name, _, value = preset["name"].partition(":preset=")
        own.get(name, {}).setdefault("preset", {"range": []})["range"].append(value)
    return {module: own.get(Path(module).name)} if outside else {**own}


def check_plan(root: Path, builder: Builder, matrix: Matrix, cells: list[Cell]) -> list[str]:
    """What a run would refuse, for the price of one build: the knobs, and the options of each
    program. Returns which programs could not be asked, and why."""
    check_knobs(root, builder, matrix)
    names = list(dict.fromkeys(c.program for c in cells))
    built = build(builder, everything(root), names)
    options: dict[str, list[dict[str, Any]]] = {}
    notes = []
    for name in names:
        try:
            if name in built.problems:
                raise Stop(built.problems[name])
            options[name] = options_of(built.programs[name])
        except Stop as error:
            notes.append(f"the options of {name} are not checked: {error}")
    for cell in cells:
        if cell.program in options:
            check_options(matrix, cell, options[cell.program])
    return notes


def check_options(matrix: Matrix, cell: Cell, options: list[dict[str, Any]]) -> None:
    """Factors and fixed options of a cell against what its program takes."""
    table = {str(o["name"]).replace("_", "-"): o for o in options}
    for group in ("params", "options"):
        for name, value in getattr(cell, group).items():
            flag = name.replace("_", "-")
            if name in cell.build_factors or name in cell.variables():
                continue
            if flag not in table:
                raise _error(matrix, cell, name, f"unknown factor '{name}': {cell.program} has "
                             f"no option --{flag} ({nearest(flag, table)})")
            fault = None if isinstance(value, bool) else misfit(value, table[flag])
            if fault:
                raise _error(matrix, cell, name, f"{name} of {cell.program}: {fault}")


def _error(matrix: Matrix, cell: Cell, name: str, reason: str) -> Stop:
    """At the line of that factor or option, in the cell's group or at the top."""
    for where in ([*cell.where, "factors", name], [*cell.where, "options", name],
                  ["options", name], ["build", name], [name]):
        if _there(matrix.file.data, where):
            return matrix.file.error(where, reason)
    return matrix.file.error(list(cell.where), reason)


def _there(data: Any, where: list[Any]) -> bool:
    for step in where:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True
