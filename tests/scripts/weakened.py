#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is each memory order of core/queues needed, and would a test see that it is not there? Each order is weakened in turn, in a
copy: a release or an acquire to nothing, one that is both to either half. tests/weakened.c must then find a race under
ThreadSanitizer, as it must find none in the queues as they are.

    weakened.py ROOT [--all]     without --all: one release of each file

The explorer takes every atomic operation for sequentially consistent; ThreadSanitizer takes each by its order, but runs on
this machine's: it sees what is handed over in plain memory before its time, and no store that passes a later load.
UNSEEN_IN names what it therefore cannot see, and why that order is there. An entry that names no order is a fault as well.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TIMES = 5  # so often a run may miss what another one meets
COMPILE = ["gcc", "-std=gnu17", "-O1", "-g", "-w", "-mcx16", "-fsanitize=thread", "-pthread"]
ORDER = re.compile(r"memory_order_(acquire|release|acq_rel|seq_cst)\b")
FUNCTION = re.compile(r"^static inline [^;{]*?\b(\w+)\([^;{]*?\)\s*\{", re.M)
CAS = re.compile(r"atomic_compare_exchange_\w+\(")
#: A file of core/queues and the queues that are tested for it, where these are not of its name.
QUEUES = {"spinlock": ["try-lock", "locked", "two-lock"], "link_shared": ["nemesis", "mpsc-stub", "two-lock"]}
SLOT = "keeps a slot or a link from being used again too early: these are atomic themselves"
INDEX = "shows with a slot the indices that led to it: these are atomic themselves"
BOTH = "keeps two accesses in order, for who decides by both: this machine does so whatever is written, another one may not"
AGAIN = "who has got the item has passed another order that shows the same: the path to it has two"
LOOK = "for who looks from outside, at two words: a queue does not seem emptier than it was; no item is read by that"
GONE = "what lies below it is claimed already, so that nobody gets an item by it; kept as each store to bottom is a release"
RARE = "on a path that this program takes too seldom"
#: By file: which order of which function is not seen, without what ("both": without either), and why.
UNSEEN_IN: dict[str, list[tuple[str, int, str, str]]] = {
    "chase_lev": [("push", 1, "acquire", SLOT), ("grow", 1, "acquire", SLOT), ("grow", 2, "release", RARE),
                  ("pop", 1, "both", BOTH), ("pop", 2, "acquire", BOTH), ("pop", 3, "both", BOTH), ("pop", 4, "release", GONE),
                  ("steal", 1, "acquire", BOTH), ("steal", 3, "acquire", RARE), ("steal", 4, "release", SLOT),
                  ("steal", 4, "acquire", BOTH), ("valid", 1, "acquire", LOOK)],
    "link_shared": [("await_", 1, "acquire", AGAIN)],
    "mpmc_ring": [("push", 1, "acquire", INDEX), ("push", 2, "both", INDEX), ("pop", 1, "acquire", BOTH),
                  ("pop", 2, "release", INDEX), ("pop", 3, "both", BOTH), ("pop", 4, "acquire", BOTH), ("pop", 5, "both", INDEX),
                  ("length", 1, "acquire", LOOK)],
    "mpsc_node": [("push", 1, "both", SLOT)],
    "mpsc_stub": [("empty", 1, "acquire", LOOK)],
    "nemesis": [("pop", 2, "both", SLOT)],
    "spmc_deque": [("push_n", 1, "acquire", SLOT), ("steal", 2, "release", SLOT), ("valid", 1, "acquire", LOOK)],
    "spmc_fifo": [("push_n", 1, "acquire", SLOT), ("pop", 1, "acquire", SLOT), ("pop", 1, "release", LOOK), ("pop", 2, "release", LOOK),
                  ("steal", 1, "acquire", LOOK), ("steal", 3, "release", SLOT), ("length", 1, "acquire", LOOK),
                  ("valid", 1, "acquire", LOOK)],
    "spmc_lifo": [("push_n", 1, "acquire", SLOT), ("pop", 1, "both", BOTH), ("pop", 2, "acquire", BOTH),
                  ("pop", 3, "both", BOTH), ("pop", 4, "release", GONE), ("steal", 1, "acquire", BOTH),
                  ("steal", 3, "release", SLOT), ("steal", 3, "acquire", BOTH), ("length", 1, "acquire", LOOK),
                  ("valid", 1, "acquire", LOOK)],
    "treiber": [("pop", 1, "acquire", AGAIN), ("pop", 2, "acquire", AGAIN), ("pop", 3, "acquire", AGAIN)],
    "two_lock": [("push", 1, "release", LOOK), ("empty", 1, "acquire", LOOK), ("pop", 1, "acquire", AGAIN),
                 ("pop", 3, "acquire", AGAIN)],
}
UNSEEN = {(file, function, which, each) for file, rows in UNSEEN_IN.items() for function, which, lost, _why in rows
          for each in (("release", "acquire") if lost == "both" else (lost,))}


@dataclass(frozen=True)
class Weaker:
    file: str
    function: str
    which: int
    lost: str
    text: str

    @property
    def key(self) -> tuple[str, str, int, str]:
        function = re.sub(r"^tn_(mpsc_nodes|spinlock|link|mpmc)_", "", self.function.replace(f"tn_{self.file}_", ""))
        return self.file, function, self.which, self.lost

    def __str__(self) -> str:
        return f"{self.file}.h, {self.function}, order {self.which} without {self.lost}"


def call_around(text: str, at: int) -> tuple[int, int]:
    """The compare-and-exchange that position `at` is an argument of; (at, at) if there is none."""
    for start in CAS.finditer(text, max(0, at - 400), at):
        depth, end = 1, start.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        if end > at:
            return start.start(), end
    return at, at


def without(order: str, call: str) -> list[tuple[str, str]]:
    """What can be lost, and the order that is left."""
    both = order in ("acq_rel", "seq_cst")
    if both and "load" not in call and "store" not in call:
        return [("release", "acquire"), ("acquire", "release")]
    return [("release" if "store" in call or order == "release" else "acquire", "relaxed")]


def weaker(path: Path) -> list[Weaker]:
    text = path.read_text(encoding="utf-8")
    functions = [(m.start(), m[1]) for m in FUNCTION.finditer(text)]
    seen: dict[str, int] = {}
    out = []
    for order in ORDER.finditer(text):
        line = text.rfind("\n", 0, order.start()) + 1
        if "/*" in text[line:order.start()] or text[line:order.start()].lstrip().startswith("*"):
            continue
        function = [name for start, name in functions if start < order.start()][-1]
        seen[function] = seen.get(function, 0) + 1
        first, last = call_around(text, order.start())
        operation = text[first:last] if last > first else text[text.rfind("atomic_", 0, order.start() - 8):order.start()]
        if last > first and "memory_order" in text[first:order.start()]:    # of a compare-and-exchange that fails
            left = [("acquire", "relaxed")]
        else:
            left = without(order[1], operation.partition("(")[0])
        for lost, instead in left:
            changed = text[:order.start()] + "memory_order_" + instead + text[order.end():]
            if last > first and "memory_order" not in text[first:order.start()]:
                # the order of one that fails is never the stronger
                tail = changed[order.start() + 13 + len(instead):]
                end = tail.find(";")
                if instead in ("relaxed", "release"):
                    changed = changed[:len(changed) - len(tail)] + ORDER.sub("memory_order_relaxed", tail[:end], count=1) + tail[end:]
            out.append(Weaker(path.stem, function, seen[function], lost, changed))
    return out


def caught(root: Path, name: str, text: str | None) -> tuple[bool, str]:
    """Is there a race in this file's queues, if that is its text? And what was said."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch)
        shutil.copytree(root / "core" / "queues", tree / "core" / "queues")
        (tree / "experiments" / "workloads").mkdir(parents=True)
        for header in (root / "experiments" / "workloads").glob("queue_face*.h"):
            shutil.copy(header, tree / "experiments" / "workloads")
        if text is not None:
            (tree / "core" / "queues" / f"{name}.h").write_text(text, encoding="utf-8")
        made = subprocess.run([*COMPILE, f"-I{tree}", str(root / "tests" / "weakened.c"), "-o", str(tree / "out")],
                              capture_output=True, text=True, check=False)
        if made.returncode != 0:
            return False, made.stderr
        for _ in range(1 if text is None else TIMES):
            run = subprocess.run([str(tree / "out"), *QUEUES.get(name, [name.replace("_", "-")])], capture_output=True,
                                 text=True, check=False, env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1:exitcode=66"})
            if run.returncode != 0:
                break
        return run.returncode == 66 and "data race" in run.stderr, f"exit {run.returncode}: {run.stdout}{run.stderr}"


def main() -> int:
    root, everything = Path(sys.argv[1]), "--all" in sys.argv[2:]
    files = sorted(p for p in (root / "core" / "queues").glob("*.h") if ORDER.search(p.read_text(encoding="utf-8")))
    every = [w for path in files for w in weaker(path)]
    faults = [f"{', '.join(map(str, key))}: no such order" for key in UNSEEN if key not in {w.key for w in every}]
    chosen = [w for w in every if w.key not in UNSEEN]
    if not everything:
        chosen = list({w.file: w for w in chosen if w.lost == "release"}.values())
    n = 0
    with ThreadPoolExecutor(2) as pool:
        for path, (race, said) in zip(files, pool.map(lambda p: caught(root, p.stem, None), files)):
            if race or not said.startswith("exit 0"):
                faults.append(f"{path.name} as it is: {said}")
        for w, (race, said) in zip(chosen, pool.map(lambda w: caught(root, w.file, w.text), chosen)):
            n += race
            if not race:
                faults.append(f"{w}: no race; {said[:300].strip()}")
    print("\n".join(faults) or f"weakened: ok, {n} of {len(every)} orders caught, {len(UNSEEN)} not to be seen")
    return 1 if faults else 0


sys.exit(main())
