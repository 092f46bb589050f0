#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn meson's option `schedulers` into the header that binds modules to the core.

    binding.py SPEC SOURCE_ROOT OUTPUT_DIR

SPEC is a comma-separated list of NAME or PATH, each with knobs to fix in the build: fifo, lifo:private=16,
../mine (a directory that holds mine.c), plugin. Writes OUTPUT_DIR/tn_binding.h and tn_fixed.h, prints
the module files that are translation units of their own (none when a single module goes into the core's).
"""
from __future__ import annotations

import difflib
import os
import re
import sys

KNOB = re.compile(r'\bK\(\s*(\w+)\s*,\s*(NULL|"[^"]*")\s*,\s*([^,]+),\s*([^,]+),\s*([^,]+),')
INCLUDE = re.compile(r'#include\s+"([\w./]+)"')
SUFFIX = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def fail(message: str) -> None:
    sys.exit(f"schedulers: {message}")


def knobs_of(path: str, root: str) -> dict[str, list[str] | range]:
    """The knobs that a module's file, or a part that it includes, declares: their choices, or the range of a number."""
    found: dict[str, list[str] | range] = {}
    todo, seen = [path], set()
    while todo:
        name = todo.pop()
        if name in seen or not os.path.exists(name):
            continue
        seen.add(name)
        with open(name, encoding="utf-8") as file:
            text = file.read().replace("\\\n", " ")
        for knob, choices, _, low, high in KNOB.findall(text):
            found[knob] = bounds(low, high) if choices == "NULL" else choices.strip('"').split("|")
        for part in INCLUDE.findall(text):
            todo += [os.path.join(os.path.dirname(name), part), os.path.join(root, "schedulers", part)]
    return found


def bounds(low: str, high: str) -> range:
    """Limits are written as numbers, or as shifts of numbers (1 << 20)."""
    ends = []
    for text in (low, high):
        base, _, shift = text.partition("<<")
        ends.append(int(base, 0) << int(shift or "0"))
    return range(ends[0], ends[1] + 1)


def number(text: str, where: str) -> int:
    scale = SUFFIX.get(text[-1:], 1)
    try:
        return int(text[:-1] if scale > 1 else text, 0) * scale
    except ValueError:
        fail(f"{where}: '{text}' is no number")
        raise


def fixed_value(where: str, knob: str, text: str, known: dict[str, list[str] | range]) -> int:
    if knob not in known:
        near = difflib.get_close_matches(knob, list(known), 1)
        fail(f"{where}: no knob '{knob}'; " +
             (f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known) or 'none'}"))
    choices = known[knob]
    if isinstance(choices, range):
        value = number(text, f"{where}:{knob}")
        if value not in choices:
            fail(f"{where}: {knob}={text} is out of range: {choices[0]} to {choices[-1]}")
        return value
    if text not in choices:
        fail(f"{where}: {knob}={text}: it must be one of {'|'.join(choices)}")
    return choices.index(text)


def main() -> None:
    spec, root, out = sys.argv[1:4]
    folder = os.path.join(root, "schedulers")
    in_tree = sorted(d for d in os.listdir(folder) if os.path.exists(os.path.join(folder, d, d + ".c")))
    names: list[str] = []
    files: list[str] = []
    fixed: list[str] = []
    plugin = False
    for entry in (e.strip() for e in spec.split(",")):
        if not entry:
            fail(f"'{spec}': a name is missing beside a comma" if "," in spec else "empty: name at least one module")
        what, *settings = entry.split(":")
        if what == "plugin":
            plugin = True
            continue
        if "/" in what:
            path = os.path.join(root, what) if not os.path.isabs(what) else what
            name = os.path.basename(os.path.normpath(path))
            path = os.path.join(path, name + ".c")
            if not os.path.exists(path):
                fail(f"{what}: there is no {path}")
        else:
            name, path = what, os.path.join(folder, what, what + ".c")
            if what not in in_tree:
                near = difflib.get_close_matches(what, in_tree + ["plugin"], 1)
                fail(f"no module '{what}'" + (f"; did you mean '{near[0]}'?" if near else ".") +
                     f" In the tree: {', '.join(in_tree)}; or a directory, with a slash in its name")
        known = knobs_of(path, root)
        for setting in settings:
            knob, equals, text = setting.partition("=")
            if not equals:
                fail(f"{name}: {setting} is given no value: {setting}=…")
            value = fixed_value(name, knob, text, known)
            fixed.append(f"#define TN_FIX_{name}_{knob} ~, {value}")
        names.append(name)
        files.append(os.path.abspath(path))
    if len(set(names)) != len(names):
        fail("a module is named twice")
    os.makedirs(out, exist_ok=True)
    single = len(names) == 1 and not plugin
    lines = ["/* Generated from -Dschedulers=" + spec.replace("*/", "") + " */"]
    if single:
        lines += [f'#include "{files[0]}"', f"#define TN_SCHED(cl) ((void)(cl), &tn_scheduler_{names[0]})"]
    else:
        lines += [f"extern const struct tn_scheduler tn_scheduler_{name};" for name in names]
        lines += ["#define TN_SCHED(cl) ((cl)->sched)"]
    table = ", ".join(f"&tn_scheduler_{name}" for name in names) or "NULL"
    lines += [f"static const struct tn_scheduler *const binding_table[] = {{{table}}};",
              f"enum {{ BINDING_N = {len(names)}, BINDING_PLUGIN = {int(plugin)} }};",
              f'const char binding_kind[] = "{"static" if single else "table"}";', ""]
    for name, text in (("tn_binding.h", "\n".join(lines)), ("tn_fixed.h", "\n".join(fixed) + "\n")):
        path = os.path.join(out, name)
        if os.path.exists(path) and open(path, encoding="utf-8").read() == text:
            continue  # keep the time stamp: nothing to rebuild
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    if not single:
        print("\n".join(files))


main()
