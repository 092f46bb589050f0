#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Memory orders are written out and labelled.

    orders.py [ROOT]

In core/, schedulers/ and io/: no atomic operation without its order (atomic_load(x), x++ on an atomic cannot be seen
here), and each memory_order_acquire, _release, _acq_rel, _seq_cst has, on its line, on the rest of its statement or in the
comment just above, a label such as `A0`, which another place in the tree names too, or a reason that begins `seq_cst:`;
each memory_order_relaxed has a reason that begins `relaxed:` within its function, or an `own`-variable comment.
"""
from __future__ import annotations

import os
import re
import sys
import tempfile

BARE = re.compile(r"\batomic_(load|store|exchange|fetch_(?:add|sub|or|and|xor)|compare_exchange_(?:strong|weak)|"
                  r"flag_test_and_set|flag_clear)\s*\(")
ORDER = re.compile(r"\bmemory_order_(acquire|release|acq_rel|seq_cst|consume)\b")
RELAXED = re.compile(r"\bmemory_order_relaxed\b")
LABEL = re.compile(r"\b([A-Z]{1,2}[0-9])\b")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def files(root: str) -> list[str]:
    found = []
    for top in ("core", "schedulers", "io"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            found += [os.path.join(folder, n) for n in names if n.endswith((".c", ".h"))]
    return sorted(found)


def statement(code: list[str], at: int) -> tuple[int, int]:
    """First and last line of the statement that line `at` is part of."""
    first = at
    while first > 0 and at - first < 12 and code[first - 1].strip() and not re.search(r"[;{}:]\s*\\?$", code[first - 1].rstrip()):
        first -= 1
    last = at
    while last + 1 < len(code) and last - at < 12 and not re.search(r"[;{}]\s*\\?$", code[last].rstrip()):
        last += 1
    return first, last


def comments_near(lines: list[str], code: list[str], at: int) -> str:
    """The text of the statement with its comments, and of the comment block just above it."""
    first, last = statement(code, at)
    above = first - 1
    while above >= 0 and not code[above].strip(" \\") and lines[above].strip():
        above -= 1
    return "\n".join(lines[above + 1:last + 1])


def function_text(lines: list[str], code: list[str], at: int) -> str:
    """The function that line `at` is part of, with its signature and the comment above; "" outside functions."""
    first = at
    while first > 0 and not code[first].startswith(("{", "}")):
        first -= 1
    if not code[first].startswith("{"):
        return ""
    while first > 0 and lines[first - 1].strip() and not code[first - 1].startswith("}"):
        first -= 1
    last = at
    while last + 1 < len(lines) and not code[last].startswith("}"):
        last += 1
    return "\n".join(lines[first:last + 1])


def heading(lines: list[str], code: list[str], at: int) -> str:
    """Of that function, what stands before its body."""
    whole = function_text(lines, code, at)
    return whole.split("\n{", 1)[0]


def declared_relaxed(text: str, line: str) -> bool:
    """Is the variable that the line works on declared with a comment that says why relaxed is enough?"""
    name = re.search(r"\(&?(\w+),", line)
    return name is not None and re.search(r"_Atomic\([^)]*\)\s*" + name.group(1) + r";[^\n]*relaxed:", text) is not None


def check(root: str) -> tuple[list[str], dict[str, set[str]], int]:
    faults: list[str] = []
    labels: dict[str, set[str]] = {}
    count = 0
    for path in files(root):
        name = os.path.relpath(path, root)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        lines = text.split("\n")
        code = STRING.sub(blank, COMMENT.sub(blank, text)).split("\n")
        for i, line in enumerate(code):
            for bare in BARE.finditer(line):
                faults.append(f"{name}:{i + 1}: no order: atomic_{bare.group(1)}(…): write _explicit")
            near = None
            if ORDER.search(line):
                count += 1
                near = comments_near(lines, code, i)
                near += "\n" + heading(lines, code, i)
                found = [label for comment in COMMENT.findall(near) for label in LABEL.findall(comment)]
                reason = any(re.search(r"\b(seq_cst|fence)\b", c) for c in COMMENT.findall(near))
                fence = re.search(r"atomic_(thread|signal)_fence", line) is not None
                if not found and not reason and not fence:
                    faults.append(f"{name}:{i + 1}: no label: {line.strip()[:90]}")
                if not found and fence and not COMMENT.search(function_text(lines, code, i)):
                    faults.append(f"{name}:{i + 1}: a fence without a word: {line.strip()[:90]}")
                for label in found:
                    labels.setdefault(label, set()).add(f"{name}:{i + 1}")
            if RELAXED.search(line):
                count += 1
                near = near or comments_near(lines, code, i)
                comments = COMMENT.findall(near) + COMMENT.findall(function_text(lines, code, i))
                labelled = ORDER.search(line) and any(LABEL.search(c) for c in comments)  # of a CAS that fails
                if not labelled and not declared_relaxed(text, line) and not any(
                        re.search(r"\brelaxed\b|\bhint\b|\bown\b|\bguess\b|one writer|nobody", c) for c in comments):
                    faults.append(f"{name}:{i + 1}: relaxed, and no reason: {line.strip()[:90]}")
    return faults, labels, count


PLANTED = [
    "int f(_Atomic(int) *x) { return atomic_load(x); }",
    "void f(_Atomic(int) *x) { atomic_store(x, 1); }",
    "int f(_Atomic(int) *x) { return atomic_fetch_add (x, 1); }",
    "int f(_Atomic(int) *x)\n{\n    return atomic_load_explicit(x, memory_order_acquire);\n}",
    "int f(_Atomic(int) *x)\n{\n    return atomic_load_explicit(x, memory_order_relaxed);\n}",
    "void f(_Atomic(int) *x)\n{\n    /* nothing said */\n    atomic_store_explicit(x, 1, memory_order_release);\n}",
]
SOUND = "int f(_Atomic(int) *x)\n{\n    return atomic_load_explicit(x, memory_order_acquire); /* A0 acquire */\n}\n"


def self_test() -> list[str]:
    faults = []
    with tempfile.TemporaryDirectory() as tmp:
        os.mkdir(os.path.join(tmp, "core"))
        path = os.path.join(tmp, "core", "x.c")
        for text, wanted in [(t, True) for t in PLANTED] + [(SOUND, False)]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            if bool(check(tmp)[0]) != wanted:
                faults.append(f"self-test: {'not found' if wanted else 'found'}: {text!r}")
    return faults


def main() -> int:
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    root = sys.argv[1] if len(sys.argv) > 1 else here
    faults, labels, count = check(root)
    faults += self_test()
    if count < 100:
        faults.append(f"only {count} orders seen under {root}: is that the tree?")
    lonely = {label: places for label, places in labels.items() if len(places) == 1}
    for label, places in sorted(lonely.items()):
        faults.append(f"{next(iter(places))}: {label} has no partner")
    print("\n".join(faults) or f"orders: ok, {count} lines with orders, {len(labels)} labels")
    return 1 if faults else 0


sys.exit(main())
