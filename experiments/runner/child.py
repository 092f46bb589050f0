# SPDX-License-Identifier: MIT
"""One invocation: a child in a process group of its own, what it printed, used and came to."""
from __future__ import annotations

import ctypes
import json
import math
import os
import select
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Mapping

#: a program that prints more than this is stopped
OUTPUT_LIMIT = 64 << 20
_GRACE = 2.0
#: set where the runner was interrupted: children that other threads of it wait for end too
stop = threading.Event()
_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Ended:
    """How the child ended. `status` is one of those of a row."""

    status: str
    message: str | None
    wall: float
    started: str
    rusage: dict[str, float] = field(default_factory=dict)
    said: dict[str, Any] | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    interrupted: bool = False


def dies_with_runner() -> None:
    """A child does not outlive a runner that is killed, and would not disturb the next one."""
    _libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def run(command: list[str], timeout: float, more: Mapping[str, str] | None = None) -> Ended:
    """Runs the command to its end, its time-out, or our own interruption.

    TENTER_… variables of the caller do not reach it, only those of `more`: what is measured is
    what the matrix says.
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith("TENTER_")}
    env.update(more or {})
    out, err = os.memfd_create("stdout"), os.memfd_create("stderr")
    started = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    begin = time.monotonic()
    cause: str | None = None
    interrupted = False
    try:
        try:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                     env=env, start_new_session=True, preexec_fn=dies_with_runner)
        except OSError as error:
            return Ended("failed", f"cannot be started: {error.strerror}", 0.0, started)
        usage = None
        try:
            usage, cause = _wait(child, begin + timeout, (out, err))
        except KeyboardInterrupt:
            interrupted = True
            _signal(child, signal.SIGINT)
        interrupted = interrupted or cause == "stop"
        if usage is None:
            usage = _end(child, gently=interrupted and cause != "stop")
        wall = time.monotonic() - begin
        _signal(child, signal.SIGKILL)              # what it may have left behind in its group
        ended = Ended("interrupted", "stopped by Ctrl-C", wall, started, _rusage(usage),
                      stdout=_content(out), stderr=_content(err), interrupted=interrupted)
    finally:
        os.close(out)
        os.close(err)
    if cause == "timeout":
        ended.status, ended.message = "timeout", f"still running after {timeout:g} s, killed"
    elif cause == "output":
        ended.status, ended.message = "failed", f"printed more than {OUTPUT_LIMIT >> 20} MiB"
    elif not interrupted:
        _judge(ended, child.returncode)
    return ended


def _wait(child: "subprocess.Popen[bytes]", deadline: float,
          files: tuple[int, int]) -> tuple[Any, str | None]:
    """(resource usage, None) when the child has ended; (None, why) when it has to be."""
    poller, fd = select.poll(), -1
    try:
        fd = os.pidfd_open(child.pid)
        poller.register(fd, select.POLLIN)
    except OSError:
        pass                                        # before Linux 5.3: look every 20 ms
    try:
        while True:
            left = deadline - time.monotonic()
            if fd >= 0:
                poller.poll(max(0, min(1000, math.ceil(left * 1000))))
            else:
                time.sleep(max(0.0, min(0.02, left)))
            usage = _reap(child)
            if usage is not None:
                return usage, None
            if stop.is_set():
                return None, "stop"
            if time.monotonic() >= deadline:
                return None, "timeout"
            if any(os.fstat(f).st_size > OUTPUT_LIMIT for f in files):
                return None, "output"
    finally:
        if fd >= 0:
            os.close(fd)


def _reap(child: "subprocess.Popen[bytes]", options: int = os.WNOHANG) -> Any:
    pid, status, usage = os.wait4(child.pid, options)
    if pid == 0:
        return None
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage


def _signal(child: "subprocess.Popen[bytes]", number: int) -> None:
    try:
        os.killpg(child.pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def _end(child: "subprocess.Popen[bytes]", gently: bool) -> Any:
    """Ends the child's group; an interrupted one gets a moment to go by itself."""
    until = time.monotonic() + (_GRACE if gently else 0.0)
    while time.monotonic() < until:
        try:
            usage = _reap(child)
            if usage is not None:
                return usage
            time.sleep(0.02)
        except KeyboardInterrupt:                   # once more: at once, then
            break
    _signal(child, signal.SIGKILL)
    return _reap(child, 0)


def _content(fd: int) -> bytes:
    size = min(os.fstat(fd).st_size, OUTPUT_LIMIT)
    return os.pread(fd, size, 0)


def _rusage(usage: Any) -> dict[str, float]:
    return {"user_s": usage.ru_utime, "system_s": usage.ru_stime, "max_rss_kib": usage.ru_maxrss,
            "minor_faults": usage.ru_minflt, "major_faults": usage.ru_majflt,
            "voluntary_switches": usage.ru_nvcsw, "involuntary_switches": usage.ru_nivcsw}


# -- what it said ---------------------------------------------------------------------------------

def last_line(text: bytes) -> str | None:
    lines = [x.strip() for x in text.decode(errors="replace").splitlines() if x.strip()]
    return lines[-1] if lines else None


def _judge(ended: Ended, code: int) -> None:
    """The status that exit code and output give together."""
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        line = last_line(ended.stderr)
        ended.status, ended.message = "failed", f"killed by {name}" + (f": {line}" if line else "")
        return
    said, fault = parse(ended.stdout)
    if said is not None and code in (0, 1):
        ended.said = said
        ended.status = str(said["status"])
        message = said.get("message")
        if code == 1 and ended.status != "invalid":
            ended.status, message = "failed", f"exit code 1 with status '{said['status']}'"
        ended.message = None if ended.status == "ok" else str(message or "it gave no reason")
    elif code == 0:
        ended.status, ended.message = "failed", fault
    elif code == 77:
        ended.status = "skipped"
        ended.message = f"unsupported here: {last_line(ended.stderr) or 'it gave no reason'}"
    else:
        ended.status = "failed"
        ended.message = f"exit code {code}: {last_line(ended.stderr) or 'it said nothing'}"


def parse(stdout: bytes) -> tuple[dict[str, Any] | None, str]:
    """The one JSON object that a program prints, or what is wrong with it."""
    try:
        text = stdout.decode().strip()
    except UnicodeDecodeError:
        return None, "its output is not UTF-8"
    if not text:
        return None, "printed nothing instead of one JSON object"
    try:
        decoder = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
        said, end = decoder.raw_decode(text)
    except ValueError as error:
        return None, f"its output is not JSON: {error}"
    if text[end:].strip():
        return None, "printed more than one JSON object"
    if not isinstance(said, dict):
        return None, "printed JSON that is no object"
    fault = breach(said)
    return (None, f"its output breaks the contract: {fault}") if fault else (said, "")


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _finite(word: str) -> float:
    value = float(word)
    if not math.isfinite(value):
        _no_constant(word)
    return value


def breach(said: dict[str, Any]) -> str | None:
    """What docs/results.md asks of the object and this one does not have."""
    if said.get("schema") != 1:
        return f"schema is {said.get('schema')!r}, not 1"
    if said.get("status") not in ("ok", "invalid", "saturated"):
        return f"status is {said.get('status')!r}"
    if not isinstance(said.get("binary"), dict):
        return "no object 'binary'"
    samples = said.get("samples")
    if not isinstance(samples, list) or (not samples and said["status"] == "ok"):
        return "no samples"
    for sample in samples:
        if not isinstance(sample, dict) or not {"metric", "unit", "value"} <= sample.keys():
            return f"a sample lacks metric, unit or value: {json.dumps(sample)[:80]}"
        if isinstance(sample["value"], bool) or not isinstance(sample["value"], (int, float)):
            return f"the value of {sample['metric']} is no number"
    for key in ("hist", "counters", "unavailable"):
        if not isinstance(said.get(key, {}), dict):
            return f"'{key}' is no object"
    return None
