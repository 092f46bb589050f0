# SPDX-License-Identifier: MIT
"""A failing execution as a picture: its events, how they are ordered, and in red what is wrong."""
from __future__ import annotations

import subprocess

from .check_report import Answer, Row, Step, rows, sentence, wait_text, waits
from .errors import INTERNAL, Stop

_RED = "color=red, fontcolor=red"


def _id(row: Row, place: int) -> str:
    return f"n{row.number}" if row.number else f"m{place}"


def _waits_for(answer: Answer, waiting: list[Step]) -> dict[int, tuple[str, int]]:
    """Of each thread that waits: the node of what it waits for to be undone, and whose deed that is."""
    out = {}
    for wait in waiting:
        if wait.op == "join":
            out[wait.thread] = (f"w{wait.address}", wait.address)
            continue
        last = [(f"n{i}", s.thread) for i, s in enumerate(answer.steps, 1)
                if s.address == wait.address and s.wrote is not None]
        if last:
            out[wait.thread] = last[-1]
    return out


def _cycle(waits_for: dict[int, tuple[str, int]]) -> set[int]:
    """Threads that wait for each other in a ring."""
    for start in waits_for:
        seen = [start]
        while (after := waits_for.get(seen[-1])) is not None and after[1] not in seen:
            seen.append(after[1])
        if after is not None and after[1] == start:
            return set(seen)
    return set()


def _program_order(answer: Answer, lines: list[Row], waiting: list[Step], ring: set[int],
                   waits_for: dict[int, tuple[str, int]]) -> list[str]:
    """Each thread from its creation to its join; red from what holds another thread up to where it waits itself."""
    held = {waits_for[t] for t in ring}
    chains: dict[int, list[str]] = {}
    for place, row in enumerate(lines):
        chains.setdefault(row.thread, []).append(_id(row, place))
    for wait in waiting:
        chains.setdefault(wait.thread, []).append(f"w{wait.thread}")
    out = []
    for thread, chain in chains.items():
        red = False
        for a, b in zip(chain, chain[1:]):
            red = red or (a, thread) in held
            out.append(f"  {a} -> {b} [color={'red, penwidth=2' if red else 'gray'}];")
    for number, step in enumerate(answer.steps, 1):
        if step.op == "create" and step.address in chains:
            out.append(f"  n{number} -> {chains[step.address][0]} [color=gray];")
        elif step.op == "join" and step.source:
            out.append(f"  n{step.source} -> n{number} [color=gray];")
    return out


def _communication(answer: Answer) -> list[str]:
    """Reads-from; the order of the writes to each location; and from a read to the write that comes after the one it
    has read.  The steps stand in an order of execution, so that is the next write in it."""
    out = []
    writes: dict[int, list[int]] = {}
    reads: dict[int, list[int]] = {}        # of the latest write
    for number, step in enumerate(answer.steps, 1):
        if step.read is not None and step.source:
            out.append(f'  n{step.source} -> n{number} [color=darkgreen, fontcolor=darkgreen, label="rf", constraint=false];')
        if step.wrote is not None:
            for read in reads.pop(step.address, []):
                out.append(f'  n{read} -> n{number} [color=orange, fontcolor=orange, label="fr", constraint=false];')
            order = writes.setdefault(step.address, [])
            if order:
                out.append(f'  n{order[-1]} -> n{number} [color=brown, fontcolor=brown, label="co", constraint=false];')
            order.append(number)
        elif step.read is not None:
            reads.setdefault(step.address, []).append(number)
    return out


def dot(answer: Answer) -> str:
    """For Graphviz: po (gray, down), rf, co, fr; accesses that race, threads that wait in a ring, what failed in red."""
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', "'") + '"'
    lines, waiting = rows(answer), waits(answer)
    waits_for = _waits_for(answer, waiting)
    ring = _cycle(waits_for)
    out = ["digraph execution {", '  node [shape=box, fontname="monospace", fontsize=10];', "  edge [fontsize=9];",
           f"  rankdir=TB; labelloc=t; fontsize=11; label={quoted(sentence(answer))};"]
    marked = []
    for place, row in enumerate(lines):
        wrong = row.marked or (not answer.marks and not waiting and place == len(lines) - 1)
        if row.marked:
            marked.append(_id(row, place))
        out.append(f"  {_id(row, place)} [label={quoted(row.text)}, group=t{row.thread}{', ' + _RED if wrong else ''}];")
    for wait in waiting:
        red = ", " + _RED if wait.thread in ring or not ring else ""
        out.append(f"  w{wait.thread} [label={quoted(wait_text(wait))}, group=t{wait.thread}, style=dashed{red}];")
    out += _program_order(answer, lines, waiting, ring, waits_for) + _communication(answer)
    if len(marked) == 2:
        out.append(f'  {marked[0]} -> {marked[1]} [{_RED}, label="race", dir=none, penwidth=2, constraint=false];')
    for wait in waiting:
        if wait.thread in waits_for:
            red = _RED + ", penwidth=2" if wait.thread in ring else "color=gray, style=dashed"
            out.append(f'  w{wait.thread} -> {waits_for[wait.thread][0]} [{red}, label="waits for", constraint=false];')
    return "\n".join([*out, "}"]) + "\n"


def drawn(answer: Answer, name: str) -> str:
    """As what the name ends in."""
    text = dot(answer)
    if name.endswith(".dot"):
        return text
    done = subprocess.run(["dot", "-Tsvg"], input=text, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise Stop(f"dot failed: {(done.stderr.splitlines() or ['?'])[0]}", INTERNAL)
    return done.stdout
