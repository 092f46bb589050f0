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
class Mark:
    """What the failure is told by: an access that races, or where it came to an end."""
    thread: int
    epoch: int                  # steps of its thread before it
    pc: str
    event: bool                 # it is the next step itself
    address: int
    what: str
    place: str = ""
    name: str = ""


@dataclass
class Row:
    """A step, by its number, or a mark, in the order in which they are shown."""
    thread: int
    text: str
    number: int = 0             # of a step
    marked: bool = False


@dataclass
class Answer:
    verdict: str = "internal"
    values: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    waits: list[Step] = field(default_factory=list)
    message: str = ""
    names: list[tuple[int, int, str]] = field(default_factory=list)  # address, size, name: the first that fits
    unexecuted: list[str] | None = None     # lines with atomics that no execution has come to; None: not looked for
    marks: list[Mark] = field(default_factory=list)
    image: bytes = b""          # what was explored, where it is to be kept

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
        elif key == "mark":
            t, epoch, pc, event, address, what = rest.split(" ", 5)
            out.marks.append(Mark(int(t), int(epoch), pc, event == "1", int(address, 16), what))
        elif key == "name":
            address, _, name = rest.partition(" ")
            out.names.insert(0, (int(address, 16), 1, name))
        elif key == "block":
            t, number, address, size = rest.split()
            out.names.append((int(address, 16), int(size, 16), f"malloc{t}.{number}"))
        elif key == "stack":
            t, address, end = rest.split()
            out.names.append((int(address, 16), int(end, 16) - int(address, 16), f"stack{t}"))
            out.names.append((int(address, 16) - 64, 8, f"wake-ups of {who(int(t))}"))
        else:
            out.values[key] = rest
    out.verdict = out.values.get("verdict", "internal")
    out.message = out.values.get("message", "")
    if out.verdict == "bug" and out.number("executions") == 0:
        out.values["executions"] = "1"      # they are counted at their end, which this one has not come to
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
    inside = re.findall(r"@([0-9a-f]+)", answer.message)
    wanted = [s.pc for s in answer.steps + answer.waits] + [m.pc for m in answer.marks] + inside
    places = dict(zip(wanted, ("" if "?" in line else line for line in _lines(image, wanted))))
    names = answer.names + _names(image, int(answer.values.get("base", "0"), 16))
    for step in answer.steps + answer.waits:
        step.place = places.get(step.pc, "")
        step.name = who(step.address) if step.op in _OF_THREADS else _name(step.address, names)
        step.shown = tuple("" if v is None else _value(v, names) for v in (step.read, step.wrote))
    for wait in answer.waits:       # for a count of its own, which is raised by signals
        queues = [s.name for s in answer.steps if s.thread == wait.thread and s.op == "enqueue"]
        if queues and wait.name == f"wake-ups of {who(wait.thread)}":
            wait.name = f"a signal of {queues[-1]}"
    for mark in answer.marks:
        mark.place, mark.name = places.get(mark.pc, ""), _name(mark.address, names)
    answer.message = re.sub(r"@([0-9a-f]+)", lambda at: places.get(at[1]) or "?", answer.message)
    if not inside and answer.marks and answer.marks[0].place:
        answer.message += f" at {answer.marks[0].place}"


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
    """Numbers as they are, of four or eight bytes as small negative ones where they may be these; addresses of what has a
    name by that; 16 bytes as two of them."""
    if value >= 1 << 64:
        return f"({_value(value & (1 << 64) - 1, names)}, {_value(value >> 64, names)})"
    if value >= 1 << 20 and any(at <= value < at + size for at, size, _ in names):
        return "&" + _name(value, names)
    for bits in (32, 64):
        if (1 << bits) - (1 << 16) <= value < 1 << bits:
            return str(value - (1 << bits))
    return str(value) if value < 1 << 32 else f"{value:#x}"


_OF_THREADS = ("create", "join")
#: What these read and write says nothing to a reader: who holds a lock, who waits, as the checker encodes it.
_OF_LIBRARY = ("lock", "enqueue", "signal", "leave")


def who(thread: int) -> str:
    return f"thread {thread}" if thread else "main"


def _text(step: Step, number: int) -> str:
    if step.op in (*_OF_THREADS, "end", "choose"):
        what = f"{step.op} {step.choice if step.op == 'choose' else step.name}"
    elif step.read is None:
        what = f"{step.op} {step.name} = {step.shown[1]}"
    elif step.op in _OF_LIBRARY:
        what = f"{step.op} {step.name} (from {step.source or 'start'})"
    else:
        what = f"{step.op} {step.name} {step.shown[0]}"
        if step.wrote is not None:
            what += f" -> {step.shown[1]}"
        elif step.op == "CAS" and step.choice:
            what += " fails spuriously"
        what += f" (from {step.source or 'start'})"
    return " ".join(word for word in (str(number), step.place, what.rstrip()) if word)


#: Of a long execution the columns show so many steps of its beginning, and of its end.
_FIRST, _LAST = 40, 160
#: The end of an unbounded loop is the same few steps again and again.
_LAST_OF_LOOP = 12


def rows(answer: Answer) -> list[Row]:
    """The steps, and what is marked: as late as its thread lets it, so that two accesses that race stand together."""
    done: dict[int, int] = {}
    waiting = list(answer.marks)
    out = []

    def put(mark: Mark) -> None:
        waiting.remove(mark)
        out.append(Row(mark.thread, " ".join(w for w in ("*", mark.place, mark.what, mark.name) if w), marked=True))
    for number, step in enumerate(answer.steps, 1):
        due = [m for m in waiting if m.thread == step.thread and m.epoch == done.get(step.thread, 0)]
        done[step.thread] = done.get(step.thread, 0) + 1
        itself = [m for m in due if m.event]
        for mark in due:
            if mark in itself:
                waiting.remove(mark)
            elif mark is not answer.marks[-1]:
                put(mark)
        out.append(Row(step.thread, ("* " if itself else "") + _text(step, number), number, bool(itself)))
    for mark in list(waiting):
        put(mark)
    return out


def waits(answer: Answer) -> list[Step]:
    """Who waits; a join only where nothing else goes on."""
    stuck = answer.values.get("kind") in ("deadlock", "lost wake-up", "livelock")
    return [s for s in answer.waits if stuck or s.op != "join"]


def wait_text(step: Step) -> str:
    return f"- {step.place} waits for {step.name}"


def columns(answer: Answer) -> list[str]:
    """One row a step, one column a thread."""
    lines = rows(answer)
    waiting = waits(answer)
    threads = sorted({row.thread for row in lines} | {s.thread for s in waiting})
    cells = [(row.thread, row.text) for row in lines[:_FIRST]]
    last = _LAST_OF_LOOP if answer.values.get("kind") == "unbounded loop" else _LAST
    middle = lines[_FIRST:-last]
    if middle:
        cells.append((threads[0], f"... {len(middle)} steps (--json and the replay file have them)"))
        cells += [(row.thread, row.text) for row in middle if row.marked]
    cells += [(row.thread, row.text) for row in lines[_FIRST:][-last:]]
    cells += [(s.thread, wait_text(s)) for s in waiting]
    width = {t: max([len(text) for u, text in cells if u == t] + [10]) for t in threads}
    out = ["  ".join(who(t).ljust(width[t]) for t in threads).rstrip()]
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


def count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def replay_text(answer: Answer, options: list[str]) -> str:
    out = ["# A failing execution: thread, choice; what follows is for readers.",
           f"# options: {' '.join(options)}", f"# {answer.values.get('kind', '')}: {answer.message}"]
    out += [f"{s.thread} {s.choice}  # {_text(s, i + 1)}" for i, s in enumerate(answer.steps)]
    return "\n".join([*out, f"# {len(answer.steps)} steps"]) + "\n"


def as_json(answer: Answer, bound: str | None) -> dict[str, Any]:
    trace = [{"thread": s.thread, "place": s.place, "op": s.op, "location": s.name, "read": s.read,
              "wrote": s.wrote, "from": s.source} for s in answer.steps]
    return {"schema": 1, "verdict": answer.verdict, "kind": answer.values.get("kind"), "model": "sc",
            "executions": int(answer.number("executions")), "blocked": int(answer.number("blocked")), "seconds": answer.number("seconds"), "bound": bound,
            "threads": int(answer.number("threads")), "message": sentence(answer), "trace": trace,
            "accesses": [{"thread": m.thread, "place": m.place, "what": m.what, "location": m.name} for m in answer.marks],
            "switches": switched(answer),
            "preemptions": int(answer.values["preemptions"]) if "preemptions" in answer.values else None,
            "warnings": warnings(answer), "unexecuted": answer.unexecuted}


def warnings(answer: Answer) -> list[str]:
    """What makes an answer worth less than it seems."""
    if answer.verdict != "ok" and "bounded" not in answer.values:
        return []
    if answer.number("executions") == 0 and answer.number("blocked") == 0:
        return ["no execution came to its end: in each an assumption failed"]
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
    """The kind, once, and what happened."""
    kind = answer.values.get("kind", "")
    return f"{kind}: {answer.message.removeprefix(f'{kind} failed: ')}" if kind else ""
