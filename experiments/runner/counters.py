# SPDX-License-Identifier: MIT
"""Which counters this machine has. Probed once; None where they are there, else why not."""
from __future__ import annotations

import ctypes
import functools
import os
import shutil
import struct
import subprocess
from typing import Any, Mapping

#: system call numbers: x86-64, and the generic table that aarch64 uses
_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_HARDWARE, _SOFTWARE = 0, 1
_INSTRUCTIONS, _TASK_CLOCK = 1, 1
#: likwid waits ten seconds for its daemon before it gives up
LIKWID_PATIENCE = 20.0


def _event(kind: int, config: int) -> str | None:
    """Opens one event of this process, lets some work pass, and looks whether it has counted."""
    number = _PERF_EVENT_OPEN.get(os.uname().machine)
    if number is None:
        return "no perf events known for this architecture"
    # type, size, config, sample period and type, read format, exclude_hv
    attr = ctypes.create_string_buffer(
        struct.pack("=IIQQQQQ", kind, 128, config, 0, 0, 0, 1 << 6), 128)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    ctypes.set_errno(0)
    fd = int(libc.syscall(ctypes.c_long(number), attr, ctypes.c_int(0), ctypes.c_int(-1),
                          ctypes.c_int(-1), ctypes.c_ulong(0)))
    if fd < 0:
        return f"perf_event_open: {os.strerror(ctypes.get_errno())}"
    try:
        sum(range(10_000))
        value = int.from_bytes(os.read(fd, 8), "little")
    finally:
        os.close(fd)
    return None if value else "the event opens, but counts nothing"


@functools.lru_cache(maxsize=None)
def hardware() -> str | None:
    return _event(_HARDWARE, _INSTRUCTIONS)


@functools.lru_cache(maxsize=None)
def software() -> str | None:
    return _event(_SOFTWARE, _TASK_CLOCK)


@functools.lru_cache(maxsize=None)
def likwid() -> str | None:
    """Whether likwid can count on one of our processors; slow where it cannot, so there is a time-out."""
    if shutil.which("likwid-perfctr") is None:
        return "likwid is not installed"
    groups = _likwid("-a")
    if groups[0] or "No groups" in groups[1] or not groups[1].strip():
        return f"likwid knows no group of this processor: {_last(groups[1])}"
    failed, text = _likwid("-C", str(min(os.sched_getaffinity(0))), "-g", "CLOCK", "true")
    return f"likwid cannot count: {_last(text)}" if failed else None


def _likwid(*words: str) -> tuple[bool, str]:
    """(failed, what it printed)"""
    try:
        done = subprocess.run(["likwid-perfctr", *words], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              timeout=LIKWID_PATIENCE)
    except subprocess.TimeoutExpired:
        return True, f"no answer in {LIKWID_PATIENCE:g} s"
    except OSError as error:
        return True, str(error)
    return done.returncode != 0, done.stdout


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it says nothing"


def captured() -> dict[str, Any]:
    """For env.jsonl. likwid only where it has been probed already: that may take long."""
    asked = likwid.cache_info().currsize > 0
    said = {"software": software(), "hardware": hardware(), **({"likwid": likwid()} if asked else {})}
    return {name: "yes" if why is None else f"unavailable: {why}" for name, why in said.items()}


def variables(settings: Mapping[str, Any]) -> dict[str, str]:
    """What a program with `--counters likwid` is told, so that it need not find out by waiting."""
    why = likwid() if settings.get("counters") == "likwid" else None
    return {"TENTER_LIKWID": why} if why else {}
