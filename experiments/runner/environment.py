# SPDX-License-Identifier: MIT
"""What the machine is, once a run. Unknown is None; nothing is changed and nothing assumed."""
from __future__ import annotations

import glob
import hashlib
import json
import os
import platform
import re
import resource
import shutil
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from . import counters

#: what of the kernel's command line changes timings; the rest is the operator's business
KERNEL_OPTIONS = frozenset((
    "isolcpus nohz nohz_full rcu_nocbs rcu_nocb_poll irqaffinity kthread_cpus skew_tick threadirqs "
    "preempt nowatchdog nmi_watchdog mitigations nopti pti spectre_v2 nospectre_v2 "
    "spec_store_bypass_disable l1tf mds tsx nosmt maxcpus nr_cpus mem intel_pstate amd_pstate "
    "cpufreq.default_governor cpuidle.off idle intel_idle.max_cstate processor.max_cstate "
    "clocksource tsc notsc numa_balancing transparent_hugepage hugepages hugepagesz "
    "default_hugepagesz").split())
#: what of the processor's flags matters to a runtime of fibres: atomic operations, clocks, waiting,
#: what a switch has to save, mitigations
CPU_FLAGS = frozenset((
    "tsc rdtscp constant_tsc nonstop_tsc tsc_known_freq tsc_adjust art cx8 cx16 popcnt bmi2 erms "
    "fsrm clflushopt clwb sse2 avx avx2 avx512f xsave xsaveopt xsavec xsaves fsgsbase shstk "
    "user_shstk ibt rtm hle waitpkg monitor mwaitx pti ibrs ibpb stibp ibrs_enhanced pcid invpcid "
    "hwp cpb arch_perfmon perfctr_core aperfmperf hypervisor ht la57 "
    "atomics lrcpc ilrcpc uscat asimd sve sb paca bti wfxt").split())
_CPU = "/sys/devices/system/cpu"


def read(path: str) -> str | None:
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    return text or None


def number(path: str) -> int | None:
    text = read(path)
    return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else None


def chosen(path: str) -> str | None:
    """The bracketed word of a line such as `always [madvise] never`."""
    match = re.search(r"\[([^\]]+)\]", read(path) or "")
    return match[1] if match else None


def said_by(*command: str, cwd: Path | None = None) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, timeout=20, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def first_line(*command: str) -> str | None:
    text = said_by(*command)
    return text.splitlines()[0] if text else None


def kept(text: str | None, names: frozenset[str]) -> str | None:
    """The words of a line whose name, up to `=`, is among these."""
    if text is None:
        return None
    return " ".join(w for w in text.split() if w.partition("=")[0].replace("-", "_") in names)


def cpuinfo() -> dict[str, str]:
    out: dict[str, str] = {}
    for line in (read("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        out.setdefault(key.strip(), value.strip())
    return out


def cpu_model() -> str | None:
    info = cpuinfo()
    return info.get("model name") or info.get("Model")


def governor() -> str | None:
    words = {read(p) for p in glob.glob(f"{_CPU}/cpu[0-9]*/cpufreq/scaling_governor")}
    return ",".join(sorted(w for w in words if w)) or None


def turbo() -> bool | None:
    off = number(f"{_CPU}/intel_pstate/no_turbo")
    if off is not None:
        return off == 0
    on = number(f"{_CPU}/cpufreq/boost")
    return None if on is None else on == 1


def topology() -> dict[str, Any]:
    """Packages, cores, and the processors that share a core, as the kernel gives them."""
    shared = {read(p) for p in
              glob.glob(f"{_CPU}/cpu[0-9]*/topology/thread_siblings_list")} - {None}
    packages = {read(p) for p in
                glob.glob(f"{_CPU}/cpu[0-9]*/topology/physical_package_id")} - {None}
    nodes = glob.glob("/sys/devices/system/node/node[0-9]*")
    caches = {}
    for index in sorted(glob.glob(f"{_CPU}/cpu0/cache/index[0-9]*")):
        name = f"L{read(index + '/level')} {read(index + '/type')}"
        caches[name] = {"size": read(index + "/size"), "shared": read(index + "/shared_cpu_list"),
                        "line": number(index + "/coherency_line_size")}
    return {"packages": len(packages) or None, "cores": len(shared) or None,
            "siblings": sorted(str(s) for s in shared) or None, "nodes": len(nodes) or None,
            "caches": caches or None}


def cgroup() -> dict[str, Any]:
    """The group of this process and its limits on processors and memory."""
    lines = (read("/proc/self/cgroup") or "").splitlines()
    version = 2 if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else 1 if lines else None
    path = next((x.split("::", 1)[1] for x in lines if x.startswith("0::")), "/")
    out: dict[str, Any] = {"version": version, "path": path, "cpu_max": None, "memory_max": None,
                           "cpuset": None}
    if version == 2:
        base = "/sys/fs/cgroup" + path.rstrip("/")
        out.update(cpu_max=read(base + "/cpu.max"), memory_max=read(base + "/memory.max"),
                   cpuset=read(base + "/cpuset.cpus.effective"))
    elif version == 1:
        quota = number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
        period = number("/sys/fs/cgroup/cpu/cpu.cfs_period_us")
        out.update(cpu_max=None if quota is None else f"{quota} {period}",
                   memory_max=read("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
    return out


def limits() -> dict[str, Any]:
    def of(name: str) -> list[int | None]:
        pair = resource.getrlimit(getattr(resource, name))
        return [None if v == resource.RLIM_INFINITY else v for v in pair]
    return {"nofile": of("RLIMIT_NOFILE"), "nproc": of("RLIMIT_NPROC"),
            "memlock": of("RLIMIT_MEMLOCK"), "stack": of("RLIMIT_STACK"), "as": of("RLIMIT_AS"),
            "max_map_count": number("/proc/sys/vm/max_map_count"),
            "threads_max": number("/proc/sys/kernel/threads-max")}


def hypervisor() -> str | None:
    name = said_by("systemd-detect-virt", "--vm")
    if name:
        return name
    for path in ("/sys/hypervisor/type", "/sys/class/dmi/id/sys_vendor"):
        text = read(path)
        if text and ("hypervisor" in cpuinfo().get("flags", "") or "hypervisor" in path):
            return text
    return "unknown" if "hypervisor" in cpuinfo().get("flags", "") else None


def head_commit(git: Path) -> str | None:
    """The commit that HEAD names, read from the files of a repository: a minimal Debian has no git."""
    try:
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head or None
        name = head[5:]
        if (git / name).exists():
            return (git / name).read_text(encoding="utf-8").strip() or None
        for line in (git / "packed-refs").read_text(encoding="utf-8").splitlines():
            if line.endswith(" " + name):
                return line.split()[0]
    except OSError:
        pass
    return None


def commit(root: Path) -> dict[str, Any]:
    """Commit and uncommitted changes; None without a repository. Without git the changes are unknown."""
    out: dict[str, Any] = {"commit": None, "describe": None, "dirty": None, "dirty_diff": None,
                           "untracked": None}
    top = said_by("git", "rev-parse", "--show-toplevel", cwd=root)
    if top is None or Path(top).resolve() != root.resolve():
        out["commit"] = head_commit(root / ".git")
        return out
    out["commit"] = said_by("git", "rev-parse", "HEAD", cwd=root)
    out["describe"] = said_by("git", "describe", "--always", "--dirty", cwd=root)
    if out["commit"] is None:
        return out
    diff = said_by("git", "diff", "HEAD", cwd=root)
    if diff is not None:
        out.update(dirty=bool(diff), dirty_diff=diff[:200_000] or None)
    names = said_by("git", "ls-files", "--others", "--exclude-standard", cwd=root)
    out["untracked"] = names.splitlines()[:200] if names is not None else None
    return out


def capture(root: Path) -> dict[str, Any]:
    """The line of env.jsonl; `env_id` is the hash of all that is not the time."""
    info = cpuinfo()
    system = platform.uname()
    env: dict[str, Any] = {
        "schema": 1,
        "host": system.node, "system": system.system, "kernel": system.release,
        "kernel_version": system.version, "machine": system.machine,
        "distribution": _distribution(), "cmdline": kept(read("/proc/cmdline"), KERNEL_OPTIONS),
        "cpu_model": cpu_model(),
        "cpu_vendor": info.get("vendor_id") or info.get("CPU implementer"),
        "cpu_microcode": info.get("microcode"), 
        "cpu_flags": kept(info.get("flags") or info.get("Features"), CPU_FLAGS),
        "cpus_online": os.cpu_count(), "cpus_allowed": sorted(os.sched_getaffinity(0)),
        "cpus_isolated": read(f"{_CPU}/isolated"), "topology": topology(),
        "memory_b": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "page_b": os.sysconf("SC_PAGE_SIZE"),
        "governor": governor(), "turbo": turbo(), "smt": read(f"{_CPU}/smt/control"),
        "thp": chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
        "aslr": number("/proc/sys/kernel/randomize_va_space"),
        "clock_source": read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "cgroup": cgroup(), "counters": counters.captured(), "perf_paranoid": number("/proc/sys/kernel/perf_event_paranoid"),
        "limits": limits(), "hypervisor": hypervisor(),
        "vulnerabilities": {os.path.basename(p): read(p)
                            for p in sorted(glob.glob(f"{_CPU}/vulnerabilities/*"))} or None,
        "compilers": {
            **{c: first_line(c, "--version") for c in ("gcc", "clang", "g++")},
            "go": first_line("go", "version")},
        "meson": first_line("meson", "--version"), "ninja": first_line("ninja", "--version"),
        "libc": " ".join(platform.libc_ver()) or None, "python": platform.python_version(),
        **commit(root),
    }
    text = json.dumps(env, sort_keys=True)
    return {"env_id": hashlib.sha256(text.encode()).hexdigest()[:16],
            "captured": datetime.now(timezone.utc).isoformat(timespec="seconds"), **env}


def _distribution() -> str | None:
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)', read("/etc/os-release") or "", re.M)
    return match[1] if match else None


# -- per row --------------------------------------------------------------------------------------

def processor_times() -> tuple[int, int] | None:
    """(stolen, all) ticks of the machine since its start."""
    text = read("/proc/stat")
    if text is None:
        return None
    fields = [int(x) for x in text.splitlines()[0].split()[1:9]]
    return (fields[7], sum(fields)) if len(fields) == 8 else None


def steal(before: tuple[int, int] | None, after: tuple[int, int] | None) -> float | None:
    if before is None or after is None or after[1] <= before[1]:
        return None
    return round(100.0 * (after[0] - before[0]) / (after[1] - before[1]), 3)


def isolated() -> bool | None:
    """Whether the kernel keeps other work off every processor that this process may use."""
    text = read(f"{_CPU}/isolated")
    if text is None:
        return False if os.path.exists(f"{_CPU}/isolated") else None
    alone: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        alone |= set(range(int(low), int(high or low) + 1))
    return os.sched_getaffinity(0) <= alone
