# SPDX-License-Identifier: MIT
"""The verb `list`: modules, pollers, workloads, matrices, knobs with their ranges."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import known, matrix as matrices
from .arguments import Parser
from .build import Build, Builder, MesonBuilder, Variant, build
from .errors import GOOD, Stop
from .progress import Steps, say

ROOT = Path(__file__).resolve().parents[2]


def parser() -> Parser:
    out = Parser(
        "list",
        description="Modules, pollers, workloads, matrices, and knobs with their ranges. Modules "
                    "and knobs are what the C side says of itself, so this builds every module, "
                    "poller and workload first, which takes minutes once.")
    out.add_argument("--json", action="store_true", help="one JSON object on standard output")
    return out


def main(argv: list[str], root: Path = ROOT, builder: Builder | None = None) -> int:
    args = parser().parse(argv)
    builder = builder or MesonBuilder(root, say=say, steps=Steps)
    say("building what is to be asked (every module, poller and workload), where it is not built yet")
    said = known.config(root, builder)
    said["pollers"] = _pollers(root, builder, said["pollers"])
    said["workloads"] = _workloads(root, builder)
    said["matrices"] = [_matrix(root, name) for name in matrices.names(root)]
    print(json.dumps(said, indent=1) if args.json else _text(said))
    return GOOD


def _pollers(root: Path, builder: Builder, here: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All of the tree. A build has one, so each of the others is asked for its knobs in a build of the core alone."""
    out = list(here)
    for name in known.pollers(root):
        if any(p["name"] == name for p in here):
            continue
        try:
            out += known.config(root, builder, Variant.of({"poller": name}))["pollers"]
        except Stop as error:
            out.append({"name": name, "summary": f"(not here: {error})", "knobs": []})
    return out


def _workloads(root: Path, builder: Builder) -> list[dict[str, Any]]:
    built: Build = build(builder, known.everything(root), known.sources(root))
    out: list[dict[str, Any]] = []
    for name in known.sources(root):
        entry: dict[str, Any] = {"name": name, "about": None, "options": None,
                                 "missing": None}
        try:
            if name in built.programs:
                told = known.said_of(built.programs[name])
                entry.update(about=told.get("about"), options=told["options"])
            else:
                entry["missing"] = built.problems[name]
        except Stop as error:
            entry["missing"] = str(error)
        out.append(entry)
    return out


def _matrix(root: Path, name: str) -> dict[str, Any]:
    path = matrices.find(root, name)
    try:
        loaded = matrices.load(root, path)
    except Stop as error:
        return {"name": name, "title": f"broken: {error}", "row": None, "cells": 0, "blocks": 0}
    return {"name": name, "title": loaded.title, "row": loaded.row, "cells": len(loaded.cells),
            "blocks": loaded.blocks, "path": str(path.relative_to(root))}


def _option(entry: dict[str, Any], indent: str = "    ") -> str:
    if entry.get("type") == "flag":
        return f"{indent}{entry['name']:<16} flag{'':<38}  {entry.get('help', '')}".rstrip()
    unit = f" {entry['unit']}" if entry.get("unit") not in (None, "", "1") else ""
    text = f"{indent}{entry['name']:<16} {known.range_text(entry)}{unit}"
    if entry.get("default") not in (None, "") and "(default " not in entry.get("help", ""):
        text += f" (default {entry['default']})"
    text = f"{text:<58}  {entry.get('help', '')}".rstrip()
    return text + (f"  [{entry['from']}]" if entry.get("from") else "")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _text(said: dict[str, Any]) -> str:
    lines: list[str] = []
    for key, title in (("schedulers", "Modules"), ("pollers", "Pollers")):
        lines += [title]
        for entry in said.get(key, []):
            lines += [f"  {entry['name']:<10} {entry.get('summary', '')}".rstrip()]
            lines += [_option(k) for k in entry.get("knobs", [])]
    lines += ["Presets (a module with its knobs, and what idle workers do unless told otherwise)"]
    lines += [f"  {p['name']:<22} {p['stands_for']}, idle={p['idle']}" for p in said.get("presets", [])]
    lines += ["Knobs of the runtime"]
    lines += [_option(k, "  ") for k in said.get("core", {}).get("knobs", [])]
    lines += ["Workloads (options that most of them share are left out: PROGRAM --help has them)"]
    for entry in said["workloads"]:
        what = f"(not here: {entry['missing']})" if entry["missing"] else entry["about"] or ""
        lines += [f"  {entry['name']:<14}  {what}".rstrip()]
        lines += [_option(o) for o in entry["options"] or [] if not o.get("common")]
    lines += ["Matrices"]
    for entry in said["matrices"]:
        row = f", row {entry['row']}" if entry["row"] else ""
        lines += [f"  {entry['name']:<21} {entry['title']} ({_counted(entry['cells'], 'cell')} × "
                  f"{_counted(entry['blocks'], 'block')}{row})"]
    lines += ["", "[003 §4.3] and its like: where the idea is from; docs/sources.md has the list."]
    return "\n".join(lines)
