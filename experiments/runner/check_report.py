# SPDX-License-Identifier: MIT
"""What the checker found, for people: columns, one a thread, with places, values and where they come from."""
from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Step:
    thread: int
    pc: str
    op: str
    address: int
    read: int | None
    wrote: int | None
    source: int                 # number of the step whose value was read; 0: the initial value
    choice: int
    place: str = ""
    name: str = ""
    shown: tuple[str, ...] = ("", "")   # what it read, and wrote, for people


@dataclass
class Answer:
    verdict: str = "internal"
    values: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    waits: list[Step] = field(default_factory=list)
    message: str = ""
    names: list[tuple[int, int, str]] = field(default_factory=list)  # address, size, name: the first that fits
    unexecuted: list[str] | None = None     # lines with atomics that no execution has come to; None: not looked for
    places: list[str] = field(default_factory=list)     # of two accesses that race, or of the failure

    def number(self, key: str) -> float:
        return float(self.values.get(key, 0))


def parse(text: str, image: Path) -> Answer:
    out = Answer()
    for line in text.splitlines():
        key, _, rest = line.partition(" ")
        if key == "step":
            t, pc, op, address, reads, old, writes, new, source, choice = rest.split()
            out.steps.append(Step(int(t), pc, op, int(address, 16), int(old, 16) if reads == "1" else None,
                                  int(new, 16) if writes == "1" else None, int(source), int(choice)))
        elif key == "wait":
            t, pc, op, address = rest.split()
            out.waits.append(Step(int(t), pc, op, int(address, 16), None, None, 0, 0))
        elif key == "name":
            address, _, name = rest.partition(" ")
            out.names.insert(0, (int(address, 16), 1, name))
        elif key == "block":
            t, number, address, size = rest.split()
            out.names.append((int(address, 16), int(size, 16), f"malloc{t}.{number}"))
        elif key == "stack":
            t, address, end = rest.split()
            out.names.append((int(address, 16), int(end, 16) - int(address, 16), f"stack{t}"))
        else:
            out.values[key] = rest
    out.verdict = out.values.get("verdict", "internal")
    out.message = out.values.get("message", "")
    _place(out, image)
    if out.verdict in ("ok", "incomplete"):
        out.unexecuted = _unexecuted(image, {int(x, 16) for x in out.values.get("seen", "").split()})
    return out


def _lines(image: Path, pcs: list[str]) -> list[str]:
    done = subprocess.run(["addr2line", "-s", "-e", str(image)], input="\n".join(pcs), capture_output=True, text=True,
                          check=False)
    return [line.split(" (")[0] for line in done.stdout.splitlines()]


def _unexecuted(image: Path, seen: set[int]) -> list[str]:
    """Lines with atomic operations none of which was executed."""
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(image)], capture_output=True, text=True,
                          check=False).stdout
    sites, after = [], False
    for line in code.splitlines():
        at, _, rest = line.partition(":\t")
        if not rest:
            continue
        if after:
            sites.append(int(at, 16) - 1)       # the last byte of the call, as the checker has it
        after = bool(re.search(r"call.*<__tsan_atomic(?!_signal)", rest))
    lines = _lines(image, [f"{site:x}" for site in sites])
    met = {line for site, line in zip(sites, lines) if site in seen}
    return sorted({line for line in lines if line not in met},
                  key=lambda line: (line.rpartition(":")[0], int("0" + re.sub(r"\D", "", line.rpartition(":")[2]))))


def _place(answer: Answer, image: Path) -> None:
    if not answer.steps and not answer.message:
        return
    pcs = answer.values.get("pc", "0 0 0").split()
    inside = re.findall(r"@([0-9a-f]+)", answer.message)
    wanted = [s.pc for s in answer.steps + answer.waits] + pcs[:2] + inside
    places = dict(zip(wanted, _lines(image, wanted)))
    names = answer.names + _names(image, int(answer.values.get("base", "0"), 16))
    for step in answer.steps + answer.waits:
        step.place = places.get(step.pc, "?")
        step.name = _name(step.address, names)
        step.shown = tuple("" if v is None else _value(v, names) for v in (step.read, step.wrote))
    for pc in inside:
        answer.message = answer.message.replace("@" + pc, places.get(pc, "?"))
    answer.places = [places[p] for p in pcs[:2] if p != "0" and p in places and "?" not in places[p]]


def _names(image: Path, base: int) -> list[tuple[int, int, str]]:
    text = subprocess.run(["nm", "-S", "--defined-only", str(image)], capture_output=True, text=True, check=False).stdout
    out = []
    for line in text.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "bBdD":
            out.append((base + int(words[0], 16), int(words[1], 16), words[3]))
    return out


def _name(address: int, names: list[tuple[int, int, str]]) -> str:
    if address == 0:
        return ""
    for at, size, name in names:
        if at <= address < at + size:
            return name if address == at else f"{name}+{address - at}"
    return f"{address & 0xffffff:#x}"


def _value(value: int, names: list[tuple[int, int, str]]) -> str:
    """Numbers as they are, addresses of what has a name by that; 16 bytes as two of them."""
    if value >= 1 << 64:
        return f"({_value(value & (1 << 64) - 1, names)}, {_value(value >> 64, names)})"
    if value >= 1 << 20 and any(at <= value < at + size for at, size, _ in names):
        return "&" + _name(value, names)
    return str(value) if value < 1 << 32 else f"{value:#x}"


def _text(step: Step, number: int) -> str:
    if step.op in ("create", "join", "end", "choose"):
        what = f"{step.op} {step.choice}" if step.op == "choose" else step.op
    elif step.read is None:
        what = f"{step.op} {step.name} = {step.shown[1]}"
    else:
        what = f"{step.op} {step.name} {step.shown[0]}"
        if step.wrote is not None:
            what += f" -> {step.shown[1]}"
        what += f" (from {step.source or 'start'})"
    return f"{number} {step.place} {what}"


#: Of a long execution the columns show so many steps of its beginning, and of its end.
_FIRST, _LAST = 40, 160


def columns(answer: Answer) -> list[str]:
    """One row a step, one column a thread."""
    threads = sorted({s.thread for s in answer.steps + answer.waits})
    cells: list[tuple[int, str]] = [(s.thread, _text(s, i + 1)) for i, s in enumerate(answer.steps)]
    left_out = len(cells) - _FIRST - _LAST
    if left_out > 0:
        cells[_FIRST:-_LAST] = [(threads[0], f"... {left_out} steps (--json and the replay file have them)")]
    cells += [(s.thread, f"- {s.place} waits for {s.name}") for s in answer.waits]
    width = {t: max([len(text) for u, text in cells if u == t] + [10]) for t in threads}
    out = ["  ".join(("main" if t == 0 else f"thread {t}").ljust(width[t]) for t in threads).rstrip()]
    for thread, text in cells:
        out.append("  ".join((text if t == thread else "").ljust(width[t]) for t in threads).rstrip())
    return out


def switched(answer: Answer) -> int:
    return sum(1 for a, b in zip(answer.steps, answer.steps[1:]) if a.thread != b.thread)


def switches(answer: Answer) -> str:
    """How much of an interleaving it is; minimal only where that was shown."""
    n = switched(answer)
    out = f"{n} switch{'' if n == 1 else 'es'} between threads"
    if "preemptions" in answer.values:
        k = int(answer.values["preemptions"])
        out += f", {k or 'no'} preemption{'' if k == 1 else 's'}" + (": fewer do not fail" if k else "")
    if "unstable" in answer.values:
        out += "; in this order it does not fail again"
    return out


def replay_text(answer: Answer, options: list[str]) -> str:
    out = ["# A failing execution: thread, choice; what follows is for readers.",
           f"# options: {' '.join(options)}", f"# {answer.values.get('kind', '')}: {answer.message}"]
    out += [f"{s.thread} {s.choice}  # {_text(s, i + 1)}" for i, s in enumerate(answer.steps)]
    return "\n".join(out) + "\n"


def as_json(answer: Answer, bound: str | None) -> dict[str, Any]:
    trace = [{"thread": s.thread, "place": s.place, "op": s.op, "location": s.name, "read": s.read,
              "wrote": s.wrote, "from": s.source} for s in answer.steps]
    return {"schema": 1, "verdict": answer.verdict, "kind": answer.values.get("kind"), "model": "sc",
            "executions": int(answer.number("executions")), "blocked": int(answer.number("blocked")), "seconds": answer.number("seconds"), "bound": bound,
            "threads": int(answer.number("threads")), "message": sentence(answer), "trace": trace,
            "switches": switched(answer),
            "preemptions": int(answer.values["preemptions"]) if "preemptions" in answer.values else None,
            "warnings": warnings(answer), "unexecuted": answer.unexecuted}


def warnings(answer: Answer) -> list[str]:
    """What makes an answer worth less than it seems."""
    if answer.verdict != "ok":
        return []
    if answer.number("threads") < 2:
        return ["it has only one thread: there is nothing to interleave"]
    if answer.number("conflicts") == 0:
        return ["no two threads ever met at one location: there was nothing to explore"]
    return []


def notes(answer: Answer) -> list[str]:
    """Atomic lines that no execution has come to, in a line for people."""
    lines = answer.unexecuted or []
    if not lines:
        return []
    rest = f" and {len(lines) - 8} more (--json has them all)" if len(lines) > 8 else ""
    return ["atomic operations never executed: " + ", ".join(lines[:8]) + rest]


def sentence(answer: Answer) -> str:
    kind = answer.values.get("kind", "")
    if not kind:
        return ""
    where = f" at {' and '.join(answer.places)}" if answer.places else ""
    return f"{kind}: {answer.message}{where}"


def dot(answer: Answer) -> str:
    """The execution as a graph: po, rf, co, fr; what races or comes last in red."""
    out = ["digraph execution {", '  node [shape=box, fontname="monospace", fontsize=10];', "  rankdir=TB;"]
    last: dict[int, int] = {}
    writes: dict[int, list[int]] = {}
    steps = answer.steps
    for i, s in enumerate(steps):
        red = ', color=red, fontcolor=red' if i == len(steps) - 1 or (s.place in answer.places) else ""
        text = _text(s, i + 1).replace('"', "'")
        out.append(f'  n{i + 1} [label="{text}", group=t{s.thread}{red}];')
        if s.thread in last:
            out.append(f"  n{last[s.thread]} -> n{i + 1} [color=gray];")
        last[s.thread] = i + 1
        if s.wrote is not None:
            order = writes.setdefault(s.address, [])
            if order:
                out.append(f'  n{order[-1]} -> n{i + 1} [color=brown, label="co", constraint=false];')
            order.append(i + 1)
        if s.read is not None and s.source:
            out.append(f'  n{s.source} -> n{i + 1} [color=darkgreen, label="rf", constraint=false];')
    for i, s in enumerate(steps):
        if s.read is not None and s.wrote is None:
            later = [w for w in writes.get(s.address, []) if w > max(s.source, i + 1)]
            if later:
                out.append(f'  n{i + 1} -> n{later[0]} [color=orange, label="fr", constraint=false];')
    return "\n".join([*out, "}"]) + "\n"
