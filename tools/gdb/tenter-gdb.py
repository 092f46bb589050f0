# SPDX-License-Identifier: MIT
"""Fibres in gdb, of a running program or of a core file.

    (gdb) source tools/gdb/tenter-gdb.py
    (gdb) info fibres               every fibre: its number, name, state, what it waits for
    (gdb) fibre 3                   look at fibre 3, if it has a stack: from now on bt, up, info locals show its stack
    (gdb) fibre                     which one that is; `fibre off` looks at the thread again
    (gdb) fibre apply all bt        a command for each fibre (or for some: fibre apply 1 4 bt)

Works with release builds: the library tells where its fields are (core/layout.c, core/context/*). A fibre that is off
its worker has no thread of its own, so it is shown in place of the callers of the current thread's innermost frame: frame
0 is that thread's, the fibre begins at frame 1. Nothing in the program is changed.
"""
from __future__ import annotations

import struct
from typing import Any, Iterator

import gdb  # type: ignore
import gdb.unwinder  # type: ignore

# Of each processor: its registers for pc, sp, frame pointer.
REGISTERS = {
    "i386:x86-64": ("rip", "rsp", "rbp"),
    "aarch64": ("pc", "sp", "x29"),
}


def read(address: int, size: int) -> bytes:
    return bytes(gdb.selected_inferior().read_memory(address, size))


def word(address: int) -> int:
    return int(struct.unpack("=Q", read(address, 8))[0])


def half(address: int) -> int:
    return int(struct.unpack("=I", read(address, 4))[0])


def text(address: int, size: int) -> str:
    return read(address, size).split(b"\0", 1)[0].decode("utf-8", "replace")


def string(address: int) -> str:
    out = b""
    while len(out) < 200 and b"\0" not in out:
        out += read(address + len(out), 1)
    return out.split(b"\0", 1)[0].decode("utf-8", "replace")


def symbol(name: str) -> int:
    try:
        return int(gdb.parse_and_eval(f"(unsigned long)&{name}"))
    except gdb.error:
        raise gdb.GdbError(f"no symbol {name}: is this a program with Tenter, unstripped?") from None


def function(address: int) -> str:
    """The name of the function there, without its offset."""
    shown = str(gdb.execute(f"info symbol {address}", to_string=True))
    return shown.split(" ", 1)[0] if " in section " in shown else hex(address)


class Layout:
    """Offsets and constants by name."""

    def __init__(self) -> None:
        self.at: dict[str, int] = {}
        row = symbol("tn_debug_layout")
        while name := text(row, 28):
            self.at[name] = half(row + 28)
            row += 32
        self.pc, self.fp, self.sp, self.sp_add = struct.unpack("=4i", read(symbol("tn_context_layout"), 16))

    def __getitem__(self, name: str) -> int:
        return self.at[name]


class Fibre:
    """One living fibre."""

    def __init__(self, layout: Layout, runtime: int, block: int) -> None:
        self.layout, self.runtime, self.block, self.number = layout, runtime, block, 0
        self.name = text(block + layout["fibre.name"], 16)
        self.fn = self.get("fn")

    def get(self, field: str) -> int:
        return word(self.block + self.layout["fibre." + field])

    def lives(self) -> bool:
        return self.fn != 0 and self.get("join") != self.layout["TN_JOIN_FREE"]

    def where(self) -> str:
        """Its runtime, its cluster and the module of that."""
        cluster = self.get("pub.cluster")
        module = word(word(cluster + self.layout["cluster.sched"]) + self.layout["tn_scheduler.name"])
        return f"runtime {hex(self.runtime)}, cluster {hex(cluster)}, {string(module)}"

    def worker(self) -> int:
        """The worker that runs it, or 0."""
        home = self.get("pub.home")
        return home if home and word(home + self.layout["worker.current"]) == self.block else 0

    def parked(self) -> bool:
        return self.get("wait") % self.layout["WAIT_STATES"] == self.layout["WAIT_PARKED"]

    def joins(self) -> int:
        """The fibre whose end it waits for, or 0."""
        child = self.get("joins")
        if not child:
            return 0
        joiner = word(child + self.layout["fibre.join"])
        timed = joiner == self.block | self.layout["TN_JOIN_TIMED"] and self.parked()
        return child if joiner == self.block or timed else 0

    def state(self) -> str:
        join, worker, child = self.get("join"), self.worker(), self.joins()
        if join in (self.layout["TN_JOIN_DONE"], self.layout["TN_JOIN_CLOSING"]):
            return "ended, not joined"
        if worker:
            return f"runs on worker {half(worker + self.layout['worker.pub.index'])}"
        if child:
            return f"joins {hex(child)} '{text(child + self.layout['fibre.name'], 16)}'"
        if not self.parked():
            return "ready" if self.get("pub.home") else "ready, has not run yet"
        what = self.get("note.what")
        if what and self.get("note.seq") == self.get("wait") // self.layout["WAIT_STATES"]:
            return f"waits for {string(what)} {hex(self.get('note.object'))}"
        return "sleeps, or waits to be woken" if half(self.block + self.layout["fibre.timer.at"]) else \
            "waits to be woken"

    def has_stack(self) -> bool:
        """Has it begun, and not yet ended?"""
        over = self.get("join") in (self.layout["TN_JOIN_DONE"], self.layout["TN_JOIN_CLOSING"])
        return self.get("pub.home") != 0 and not over

    def thread(self) -> Any:
        """The thread that runs it."""
        worker = self.worker()
        number = half(worker + self.layout["worker.stopped.thread"]) if worker else 0
        for thread in gdb.selected_inferior().threads():
            if number and number in thread.ptid[1:]:  # behind the process, which is its first thread's number too
                return thread
        return None

    def registers(self) -> tuple[int, int, int]:
        """pc, sp and frame pointer where it will go on."""
        context = self.get("pub.context")
        if self.layout.pc < 0:
            raise gdb.GdbError("the contexts of this build cannot be read")
        sp = context + self.layout.sp_add if self.layout.sp < 0 else word(context + self.layout.sp)
        return word(context + self.layout.pc), sp, word(context + self.layout.fp)


def fibres() -> list[Fibre]:
    layout = Layout()
    found = [f for f in (Fibre(layout, *b) for b in blocks(layout)) if f.lives()]
    found.sort(key=lambda f: (f.runtime, f.get("pub.cluster"), f.block))
    for number, fibre in enumerate(found, 1):
        fibre.number = number
    return found


def blocks(layout: Layout) -> Iterator[tuple[int, int]]:
    """The control blocks of all runtimes, living or not, each with its runtime."""
    runtime = word(symbol("tn_debug_runtimes"))
    while runtime:
        block = word(runtime + layout["runtime.stacks.all"])
        while block:
            yield runtime, block
            block = word(block + layout["fibre.next_block"])
        runtime = word(runtime + layout["runtime.diagnosis.next"])


def fibre_of(number: str) -> Fibre:
    every = fibres()
    if not number.isdigit() or not 1 <= int(number) <= len(every):
        raise gdb.GdbError(f"no fibre {number}: `info fibres` shows 1 to {len(every)}")
    return every[int(number) - 1]


# ---- looking at one ----

class Frame:
    """What tells a frame from others."""

    def __init__(self, sp: Any, pc: Any) -> None:
        self.sp, self.pc = sp, pc


class Look(gdb.unwinder.Unwinder):  # type: ignore[misc]
    """Puts the fibre that is looked at behind the innermost frame."""

    def __init__(self) -> None:
        super().__init__("tenter")
        self.registers: tuple[int, int, int] | None = None

    def __call__(self, pending: Any) -> Any:
        if self.registers is None or pending.level() != 0:
            return None
        names = REGISTERS[pending.architecture().name()]
        pointer = gdb.lookup_type("void").pointer()
        # gdb stops at a frame that lies further in than the one before: so frame 0 says that it lies on the fibre's
        # stack, whatever thread it is of.
        below = gdb.Value(self.registers[1] - 16).cast(pointer)
        out = pending.create_unwind_info(Frame(below, pending.read_register(names[0])))
        for name, value in zip(names, self.registers):
            out.add_saved_register(name, gdb.Value(value).cast(pointer))
        return out


look = Look()
gdb.unwinder.register_unwinder(None, look, replace=True)
current: Fibre | None = None


def show(fibre: Fibre | None) -> None:
    global current
    current, thread = fibre, fibre.thread() if fibre is not None else None
    look.registers = fibre.registers() if fibre is not None and not fibre.worker() else None
    gdb.invalidate_cached_frames()
    if thread is not None:
        thread.switch()
    elif look.registers is not None:
        if gdb.selected_thread() is None:
            raise gdb.GdbError("no thread to look from: the program does not run")
        older = gdb.newest_frame().older()
        if older is not None:
            older.select()
    elif gdb.selected_thread() is not None:
        gdb.newest_frame().select()


def forget(_: Any) -> None:
    """The program has gone on: what was looked at is no more where it was."""
    global current
    current, look.registers = None, None


gdb.events.cont.connect(forget)


# ---- commands ----

class InfoFibres(gdb.Command):  # type: ignore[misc]
    """Every fibre of the program: number, address, name, function, state."""

    def __init__(self) -> None:
        super().__init__("info fibres", gdb.COMMAND_STATUS)

    def invoke(self, argument: str, from_tty: bool) -> None:
        every = fibres()
        several = len({(f.runtime, f.get("pub.cluster")) for f in every}) > 1
        above = None
        for f in every:
            if several and f.where() != above:
                above = f.where()
                print(above)
            mark = "*" if current is not None and current.block == f.block else " "
            print(f"{mark} {f.number:<4} {hex(f.block)} '{f.name}' ({function(f.fn)}): {f.state()}")
        if not every:
            print("No fibres.")


class FibreCommand(gdb.Command):  # type: ignore[misc]
    """fibre N: look at a fibre. fibre off: at the thread again. fibre apply all|N... COMMAND: for each."""

    def __init__(self) -> None:
        super().__init__("fibre", gdb.COMMAND_STACK)

    def invoke(self, argument: str, from_tty: bool) -> None:
        words = argument.split()
        if not words:
            print(f"looking at fibre '{current.name}' ({hex(current.block)})" if current else "looking at no fibre")
        elif words[0] == "off":
            show(None)
        elif words[0] == "apply":
            self.apply(words[1:])
        else:
            fibre = fibre_of(words[0])
            print(f"fibre {fibre.number} '{fibre.name}': {fibre.state()}")
            if fibre.has_stack():
                show(fibre)
                gdb.execute("frame")

    def apply(self, words: list[str]) -> None:
        every = fibres()
        if words[:1] == ["all"]:
            chosen, words = every, words[1:]
        else:
            chosen = []
            while words and words[0].isdigit():
                chosen.append(fibre_of(words.pop(0)))
        if not words or not chosen:
            raise gdb.GdbError("fibre apply all|N... COMMAND")
        was, thread = current, gdb.selected_thread()
        for fibre in chosen:
            print(f"\nFibre {fibre.number} '{fibre.name}' ({function(fibre.fn)}): {fibre.state()}")
            if fibre.has_stack():
                show(fibre)
                gdb.execute(" ".join(words))
        if thread is not None:
            thread.switch()
        show(was)


InfoFibres()
FibreCommand()
