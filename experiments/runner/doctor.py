# SPDX-License-Identifier: MIT
"""The verb `doctor`: what this machine has, what it lacks, what that costs, what would mend it.

It reads and probes only. Packages are installed by the stub (`--fix`), settings by nobody.
"""
from __future__ import annotations

import ctypes
import glob
import json
import mmap
import os
import resource
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Dict

from . import counters, environment
from .arguments import Parser
from .errors import GOOD, USAGE

ROOT = Path(__file__).resolve().parents[2]
_GUARD_INSTALL = 102
#: system call numbers: x86-64, and the generic table that aarch64 uses
_CALLS = {"x86_64": {"membarrier": 324, "io_uring_setup": 425},
          "aarch64": {"membarrier": 283, "io_uring_setup": 425}}


def parser() -> Parser:
    out = Parser(
        "doctor",
        description="Packages, limits and kernel features, what each missing one costs, and the "
                    "command that would change it. Changes nothing without --fix.",
        epilog="Exit codes: 0 all packages for building and for plots are here; else 2.")
    out.add_argument("--fix", action="store_true", help="install the missing packages for "
                     "building and for plots; never changes a setting of the system")
    out.add_argument("--json", action="store_true", help="one JSON object on standard output")
    return out


def packages(root: Path = ROOT) -> list[Dict[str, Any]]:
    """Each line of tools/packages with whether its probe succeeds."""
    out = []
    for line in (root / "tools" / "packages").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            group, package, probe, cost = line.split(None, 3)
            out.append({"group": group, "package": package, "here": _probe(probe), "cost": cost})
    return out


def _probe(probe: str) -> bool:
    kind, what = probe.split(":", 1)
    if kind == "cmd":
        return shutil.which(what) is not None
    return bool(glob.glob(what)) if kind == "file" else find_spec(what) is not None


# -- checks: name, value, whether it is as wanted, what it costs, the command that mends it -------

Check = Dict[str, Any]


def _check(name: str, value: Any, good: bool | None, cost: str = "", fix: str = "") -> Check:
    return {"name": name, "value": value, "good": good, "cost": cost if good is False else "",
            "fix": fix if good is False else ""}


def _limit(name: str) -> int | None:
    soft = resource.getrlimit(getattr(resource, name))[0]
    return None if soft == resource.RLIM_INFINITY else soft


def limits() -> list[Check]:
    files, memory, threads = (_limit(f"RLIMIT_{n}") for n in ("NOFILE", "MEMLOCK", "NPROC"))
    maps = environment.number("/proc/sys/vm/max_map_count")
    return [
        _check("open files", files, files is None or files >= 65536,
               "servers stop at about that many connections", "ulimit -n 65536"),
        _check("vm.max_map_count", maps, None if maps is None else maps >= 65530,
               "fewer guarded stacks without the guards of Linux 6.13",
               "sysctl vm.max_map_count=65530"),
        _check("locked memory", memory, memory is None or memory >= 8 << 20,
               "io_uring with registered buffers may be refused", "ulimit -l 65536"),
        _check("threads of this user", threads, threads is None or threads >= 4096,
               "baselines with a thread a task stop early", "ulimit -u 32768")]


def _syscall(name: str, *args: Any) -> tuple[int, int] | None:
    """(result, errno), or None where the number is not known."""
    number = _CALLS.get(os.uname().machine, {}).get(name)
    if number is None:
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *args)
    return result, ctypes.get_errno()


def _membarrier() -> bool | None:
    done = _syscall("membarrier", ctypes.c_int(0), ctypes.c_uint(0), ctypes.c_int(0))
    return None if done is None else done[0] >= 0 and bool(done[0] & (1 << 3))


def _io_uring() -> bool | None:
    params = ctypes.create_string_buffer(120)
    done = _syscall("io_uring_setup", ctypes.c_uint(2), params)
    if done is None:
        return None
    if done[0] >= 0:
        os.close(done[0])
    return done[0] >= 0


def _guards() -> bool | None:
    """MADV_GUARD_INSTALL on one page of our own."""
    libc = ctypes.CDLL(None, use_errno=True)
    area = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    result = libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(mmap.PAGESIZE), _GUARD_INSTALL)
    return int(result) == 0


def kernel() -> list[Check]:
    ring = _io_uring()
    paranoid = environment.number("/proc/sys/kernel/perf_event_paranoid")
    disabled = environment.number("/proc/sys/kernel/io_uring_disabled")
    return [
        _check("membarrier, private expedited", *_both(_membarrier()),
               "parking pays a full fence on both sides", "Linux 4.14 or newer"),
        _check("io_uring", *_both(ring), "no io_uring poller",
               "sysctl kernel.io_uring_disabled=0" if disabled else "Linux 5.1 or newer, and a "
               "container that lets it through"),
        _check("guards by madvise", *_both(_guards()),
               "a guard costs a mapping, so at most max_map_count / 2 stacks are guarded",
               "Linux 6.13 or newer"),
        _check("software events of perf", *_or_why(counters.software()),
               "--counters has what getrusage knows",
               "a container that lets perf_event_open through"),
        _check("hardware counters", *_or_why(counters.hardware()),
               "figures that need them say so instead",
               "sysctl kernel.perf_event_paranoid=1" if (paranoid or 0) > 1 and os.getuid()
               else "a machine, or a virtual one, that has them"),
        _check("likwid", *_or_why(counters.likwid()), "--counters likwid has nothing to say",
               "apt-get install -y likwid" if not shutil.which("likwid-perfctr")
               else "a processor that it knows, and rights to /dev/cpu/*/msr (modprobe msr)")]


def _or_why(why: str | None) -> tuple[str, bool]:
    return ("yes", True) if why is None else (f"unavailable ({why})", False)


def _both(answer: bool | None) -> tuple[str | None, bool | None]:
    return (None if answer is None else "yes" if answer else "no"), answer


def machine() -> list[Check]:
    governor, turbo = environment.governor(), environment.turbo()
    thp = environment.chosen("/sys/kernel/mm/transparent_hugepage/enabled")
    aslr = environment.number("/proc/sys/kernel/randomize_va_space")
    free = shutil.disk_usage(ROOT).free >> 20
    group = environment.cgroup()
    cores = len(os.sched_getaffinity(0))
    quota = group["cpu_max"] not in (None, "max 100000") and not str(group["cpu_max"]).startswith(
        ("max", "-1"))
    return [
        _check("usable processors", cores, cores >= 2, "no figure over workers"),
        _check("governor", governor, None if governor is None else governor == "performance",
               "frequencies wander", "cpupower frequency-set -g performance"),
        _check("turbo", turbo, None if turbo is None else not turbo,
               "speed depends on how many cores are busy", "echo 0 > /sys/devices/system/cpu/"
               "cpufreq/boost, or echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"),
        _check("SMT", environment.read("/sys/devices/system/cpu/smt/control"), None),
        _check("ASLR", aslr, None),
        _check("transparent huge pages", thp, None if thp is None else thp != "always",
               "resident memory of stacks is overstated",
               "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
        _check("clock source", environment.read("/sys/devices/system/clocksource/clocksource0/"
                                                "current_clocksource"), None),
        _check("hypervisor", environment.hypervisor(), None),
        _check("cgroup", f"v{group['version']}" if group["version"] else None, None),
        _check("processor quota", group["cpu_max"], not quota,
               "the quota, not the scheduler, may end what is measured",
               "run outside the limited group"),
        _check("free disk, MiB", free, free >= 1024, "a long run may stop for want of space",
               "remove old folders in results/ and build/")]


def main(argv: list[str]) -> int:
    args = parser().parse(argv)
    said: Dict[str, Any] = {
        "interpreter": f"{sys.executable} {sys.version.split()[0]}", "packages": packages(),
        "limits": limits(), "kernel": kernel(), "machine": machine()}
    complete = all(p["here"] for p in said["packages"] if p["group"] in ("build", "plots"))
    if args.json:
        print(json.dumps({**said, "complete": complete}, indent=1))
    else:
        print(_text(said))
    return GOOD if complete else USAGE


def _text(said: dict[str, Any]) -> str:
    lines = [f"interpreter {said['interpreter']}"]
    for group in ("build", "plots", "test", "cross", "peers"):
        absent = [p for p in said["packages"] if p["group"] == group and not p["here"]]
        total = sum(p["group"] == group for p in said["packages"])
        lines.append(f"packages, {group}: {total - len(absent)} of {total}")
        lines += [f"  - {p['package']:<22} {p['cost']}" for p in absent]
        if absent:
            names = " ".join(p["package"] for p in absent)
            lines.append(f"    -> apt-get install -y --no-install-recommends {names}")
    for part in ("limits", "kernel", "machine"):
        lines.append(part)
        for check in said[part]:
            mark = {True: "+", False: "-", None: " "}[check["good"]]
            value = "unknown" if check["value"] is None else check["value"]
            text = f"  {mark} {check['name']:<30} {value}"
            lines.append(text + (f": {check['cost']}" if check["cost"] else ""))
            if check["fix"]:
                lines.append(f"    -> {check['fix']}")
    return "\n".join(lines)
