#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the compiler made of the switch path.

    disassembly.py PROBE TABLE OFF

PROBE is tests/probe.c with the library as configured, TABLE with several modules, OFF as PROBE with observe=off.

From the entry of tn_yield, and of tn_wait (which parks), every path is followed: both sides of each branch, jumps, and
into functions that are called directly. A path ends at the switch, which is the indirect jump right after fldcw, at a
return, at the C library, and in front of the functions named in RARE, which are the platform's (clock, futex, threads,
messages, a descriptor that is registered anew), what waits in a loop or ends the program, and libgcc's way to a further
segment of a split stack. Checked:

  1. in a build with one module no indirect call and no other indirect jump is on any such path;
  2. in a build with several modules there is one (so the check can fail);
  3. the switch is reached on each of them;
  4. with observe=off nothing on the path of tn_yield writes to the worker's counters, with counters something does;
  5. where nobody waits, nothing that locks a bus is on the paths of tn_local_mutex_lock and _unlock (WAITS are the ways of who
     waits, and of who hands over), and something is on those of tn_mutex_lock and _unlock.
"""
from __future__ import annotations

import json
import re
import subprocess
import sys

LINE = re.compile(r"^\s*([0-9a-f]+):\t(\S+)\s*(.*?)\s*$")
TARGET = re.compile(r"^([0-9a-f]+) <([^>+]+)(\+0x[0-9a-f]+)?>")
SYMBOL = re.compile(r"^([0-9a-f]+) <(.+)>:$")
RARE = {"tn_biased_enter_slow", "yield_thread", "tn_spin_wait", "tn_die", "tn_message", "tn_fence_heavy", "tn_now", "tn_unpark",
        "write", "epoll_pwait2", "tn_io_unarmed", "worker_start", "abort", "module_misplaced", "__morestack",
        "__morestack_non_split"}
WAITS = {"wait_for", "wait_masked", "hand_over"}


class Program:
    def __init__(self, path: str) -> None:
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], check=True, capture_output=True, text=True).stdout
        self.code: list[tuple[int, str, str]] = []
        self.at: dict[int, int] = {}
        self.locked: set[int] = set()  # indices
        self.symbol: dict[str, int] = {}
        self.name_of: dict[int, str] = {}
        for line in text.splitlines():
            symbol = SYMBOL.match(line)
            if symbol:
                self.symbol[symbol.group(2)] = int(symbol.group(1), 16)
                self.name_of[int(symbol.group(1), 16)] = symbol.group(2)
            found = LINE.match(line)
            if found:
                address, op, args = int(found.group(1), 16), found.group(2), found.group(3)
                while op in ("notrack", "bnd", "lock", "rep", "repz", "data16", "cs"):
                    if op == "lock":
                        self.locked.add(len(self.code))
                    op, _, args = args.partition(" ")
                    args = args.strip()
                if op.startswith("xchg") and "(" in args:
                    self.locked.add(len(self.code))
                self.at[address] = len(self.code)
                self.code.append((address, op, args))
        said = subprocess.run([path], check=True, capture_output=True, text=True).stdout
        self.said = json.loads(said)

    def walk(self, entry: str) -> tuple[set[int], list[str], int]:
        """Indices of the instructions on the paths from `entry`; indirect branches found; switches reached."""
        seen: set[int] = set()
        indirect: list[str] = []
        switches = 0
        todo = [self.at[self.symbol[entry]]]
        while todo:
            i = todo.pop()
            if i in seen or i >= len(self.code):
                continue
            seen.add(i)
            address, op, args = self.code[i]
            target = TARGET.match(args)
            if op in ("ret", "hlt", "ud2"):
                continue
            if op.startswith("jmp"):
                if target:
                    self.follow(target, todo)
                elif self.code[i - 1][1] == "add" and any(c[1] == "fldcw" for c in self.code[max(0, i - 5):i]):
                    switches += 1
                else:
                    indirect.append(f"{address:x}: {op} {args}")
                continue
            if op.startswith("call"):
                if target:
                    self.follow(target, todo)
                else:
                    indirect.append(f"{address:x}: {op} {args}")
                if self.ends(i + 1):  # who is called does not return: what lies behind it is another function
                    continue
            elif op.startswith("j") or op.startswith("loop"):
                assert target, f"{address:x}: {op} {args}"
                self.follow(target, todo)
            todo.append(i + 1)
        return seen, indirect, switches

    def ends(self, i: int) -> bool:
        """Whether there is nothing but padding from here to the next function."""
        while i < len(self.code) and self.code[i][0] not in self.name_of and self.code[i][1].startswith(("nop", "xchg")):
            i += 1
        return i == len(self.code) or self.code[i][0] in self.name_of

    def follow(self, target: re.Match[str], todo: list[int]) -> None:
        name = target.group(2).split(".")[0]
        if target.group(3) is None and (name in RARE | WAITS or target.group(2).endswith("@plt")):
            return
        address = int(target.group(1), 16)
        if address in self.at:
            todo.append(self.at[address])

    def counter_uses(self, entry: str) -> list[str]:
        low = self.said["counts_at"]
        high = low + self.said["counts_size"]
        uses = []
        for i in sorted(self.walk(entry)[0]):
            address, op, args = self.code[i]
            written = re.search(r"(?<![\w$-])0x([0-9a-f]+)\(%r[^)]*\)$", args)  # the last operand; loads alone may be of others
            if written and not op.startswith(("lea", "nop", "cmp", "test")) and low <= int(written.group(1), 16) < high:
                # What counts adds to what was there: other objects have something at these offsets, too.
                place, register = written.group(0), args.split(",")[0]
                if op.startswith(("add", "inc")) or any(c[1].startswith("mov") and c[2] == f"{place},{register}"
                                                        for c in self.code[max(0, i - 8):i]):
                    uses.append(f"{address:x}: {op} {args}")
        return uses


def main() -> int:
    probe, table, off = map(Program, sys.argv[1:4])
    faults = []
    static = probe.said["build"]["binding"] == "static"
    for entry in ("tn_yield", "tn_wait"):
        seen, indirect, switches = probe.walk(entry)
        if static and indirect:
            faults.append(f"{entry}: indirect in a build with one module: " + "; ".join(indirect))
        if switches == 0:
            faults.append(f"{entry}: the switch was not found")
        print(f"{entry}: {len(seen)} instructions on all paths to {switches} switch(es), {len(indirect)} indirect")
        seen, indirect, switches = table.walk(entry)
        print(f"{entry}, several modules: {len(seen)} instructions, {len(indirect)} indirect")
        if not indirect:
            faults.append(f"{entry}: no indirect call in a build with several modules: does this test see anything?")
    for kind in ("local_mutex", "mutex"):
        for verb in ("lock", "unlock"):
            name = f"tn_{kind}_{verb}"
            locked = probe.walk(name)[0] & probe.locked
            print(f"{name}: {len(locked)} locked instructions")
            if kind == "local_mutex" and locked:
                faults.append(f"{name}: locked: " + "; ".join(" ".join(map(str, probe.code[i][1:])) for i in sorted(locked)))
            if kind == "mutex" and not locked:
                faults.append(f"{name}: no locked instruction: does this test see anything?")
    counted, uncounted = probe.counter_uses("tn_yield"), off.counter_uses("tn_yield")
    print(f"tn_yield: {len(counted)} uses of counters as configured, {len(uncounted)} with observe=off")
    if probe.said["build"]["observe"] == "counters" and not counted:
        faults.append("tn_yield: no use of counters with observe=counters: does this test see anything?")
    if uncounted:
        faults.append("tn_yield: counters with observe=off: " + "; ".join(uncounted))
    if not static:
        print("the build as configured binds several modules: skipped that part")
    print("\n".join(faults) or "disassembly: ok")
    return 1 if faults else 0


sys.exit(main())
