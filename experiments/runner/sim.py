# SPDX-License-Identifier: MIT
"""The verb `sim`: a workload on simulated cores."""
from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from . import calibrate, child, known, matrix as matrices, output, sim_own, sim_where
from .arguments import Parser
from .build import Builder, MesonBuilder, Variant, build
from .errors import GOOD, INTERNAL, Stop, nearest
from .progress import Steps, say

ROOT = Path(__file__).resolve().parents[2]
MACHINES = known.MACHINES
MACHINE = "epyc7702x2"
PICTURES = (".png", ".pdf", ".svg")
#: options that no workload has as well
OURS = ("--machine", "--cores", "--capacities", "--smt", "--traffic", "--trace", "--calibrate")


def parser() -> Parser:
    out = Parser(
        "sim",
        usage="./tenter sim [--machine M] [--cores N] [--capacities] [--smt] [--seed S] "
              "[--scheduler SPEC] [--json -] [--traffic FILE] [--trace FILE] [--calibrate] "
              "WORKLOAD|FILE.c [option...]",
        description="Run a workload, or a program of your own, on the cores of a machine that need not be there: the same "
                    "core, module and workload, each access to memory charged as that machine "
                    "would. The same arguments give the same result, bit for bit; what depends on "
                    "the host stands under \"host\". Options behind WORKLOAD are the workload's "
                    "own (WORKLOAD --help shows them).",
        epilog="docs/simulating.md says what the model leaves out, and where not to trust it. "
               "Exit codes: 0 good; 1 the answer was wrong, or every thread sleeps for ever; "
               "2 usage; 3 calibrated, but some figures were too noisy; 77 unsupported here.")
    add = out.add_argument
    add("--machine", metavar="M", default=os.environ.get("TENTER_MACHINE") or MACHINE, help="a name that "
        f"--list shows, or a path to a file of the same kind (default: TENTER_MACHINE, else {MACHINE})")
    add("--cores", metavar="N", type=int, help="use the first N of its cores (default: all)")
    add("--capacities", action="store_true", help="caches hold no more than the machine's do "
        "(default: all that a core has had and no other has taken)")
    add("--smt", action="store_true", help="two threads a core, which share its caches and its "
        "units")
    add("--seed", metavar="S", type=int, help="seed of every random choice of the workload")
    add("--scheduler", metavar="SPEC", default=os.environ.get("TENTER_SCHEDULER", "fifo"), help="module "
        "and knobs (default: TENTER_SCHEDULER, else fifo)")
    add("--json", metavar="-", choices=["-"], help="one JSON object on standard output")
    add("--traffic", metavar="FILE", type=Path, help="a picture (.png, .pdf, .svg) of who handed "
        "lines to whom")
    add("--trace", metavar="FILE", type=Path, help="what ran when, in virtual time, for Perfetto "
        "(ui.perfetto.dev) or chrome://tracing")
    add("--calibrate", action="store_true", help="measure this machine, write it to "
        f"{calibrate.FILE} as the machine 'host', and exit: a minute, in which nothing else should "
        "run")
    add("--list", action="store_true", help="the machines, and exit")
    add("workload", nargs="?", metavar="WORKLOAD", help="packet, yield, …: one that ./tenter list "
        "shows; or a C file with a main, which may use tenter.h, or pthreads")
    return out


def machines(root: Path) -> dict[str, str]:
    """Name -> the first line of its file."""
    out = {p.stem: p.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
           for p in sorted((root / MACHINES).glob("*.yaml"))}
    host = root / calibrate.FILE
    out["host"] = (host.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ") if host.exists()
                   else f"not calibrated: {calibrate.HOW}")
    return out


def machine(root: Path, name: str) -> str:
    """As a program takes it: `host` is a file of the user's."""
    return str(calibrate.path(root)) if name == "host" else name


def split(argv: list[str]) -> tuple[list[str], list[str]]:
    """What is ours, up to the name of the workload, and what is the workload's."""
    takes = {o for a in parser()._actions if a.nargs != 0 for o in a.option_strings}  # noqa: SLF001
    at = 0
    while at < len(argv) and argv[at].startswith("-"):
        at += 2 if argv[at] in takes else 1
    return argv[:at + 1], argv[at + 1:]


def main(argv: list[str], root: Path = ROOT, builder: Builder | None = None) -> int:
    ours, rest = split(argv)
    args = parser().parse(ours)
    given = [word.split("=")[0] for word in ours if word.startswith("--")]
    for option in given:
        if given.count(option) > 1:
            raise Stop(f"sim: {option} is given twice")
    there = machines(root)
    if args.list:
        output.write("-", "".join(f"{name:<14} {about}\n" for name, about in there.items()))
        return GOOD
    if args.calibrate:
        if args.workload is not None:
            raise Stop(f"sim --calibrate takes no workload ('{args.workload}')")
        return calibrate.main(root, builder or MesonBuilder(root, say=say, steps=Steps))
    if args.workload is None:
        raise Stop("sim: which workload? (./tenter sim packet, say; ./tenter list shows all)")
    if "/" not in args.machine and args.machine not in there:
        more = f"; a path has a slash: ./{args.machine}" if Path(args.machine).exists() else ""
        raise Stop(f"sim: no machine '{args.machine}' ({nearest(args.machine, there)}{more})")
    if args.cores is not None and args.cores < 1:
        raise Stop(f"sim: --cores {args.cores}: at least 1")
    own = sim_own.named(args.workload)
    behind = [word for word in rest if word.partition("=")[0] in OURS]
    if behind and not own:
        raise Stop(f"sim: {behind[0]} is the simulator's: it stands before '{args.workload}'")
    if not own and args.workload not in known.sources(root):
        raise Stop(f"sim: no workload '{args.workload}' "
                   f"({nearest(args.workload, known.sources(root))})")
    if args.traffic and args.traffic.suffix.lower() not in PICTURES:
        raise Stop(f"sim --traffic {args.traffic}: a picture ends in {', '.join(PICTURES)}")
    for file in filter(None, (args.traffic, args.trace)):
        if str(file) == "-":
            raise Stop("sim: --trace takes the name of a file: standard output has the record")
        output.tried(str(file))                     # not when an hour of simulation is over
    where = machine(root, args.machine)
    module = matrices.module_of(args.scheduler)
    if not module:
        raise Stop(f"sim: --scheduler '{args.scheduler}' names no module")
    if "/" not in module and module not in known.modules(root):
        raise Stop(f"sim: no module '{module}' ({nearest(module, known.modules(root))}; a directory of your own "
                   "has a slash in its name)")
    variant = Variant.of({"runtime": "sim", "schedulers": module})
    builder = builder or MesonBuilder(root, say=say, steps=Steps)
    env = {**os.environ, "TENTER_MACHINE": where}
    env.pop("TENTER_SCHEDULER", None)
    if args.cores is not None:
        env["TENTER_CORES"] = str(args.cores)
    for name, chosen in (("CAPACITIES", args.capacities), ("SMT", args.smt)):
        if chosen:
            env[f"TENTER_{name}"] = "1"
    spec = matrices.run_time_spec(args.scheduler) if ":" in args.scheduler else None
    if own:
        program = sim_own.program(args.workload, variant, builder)
        env |= {"TENTER_SEED": str(args.seed)} if args.seed is not None else {}
        env |= {"TENTER_SCHEDULER": spec} if spec else {}
        return run([str(program), *rest], env, program, args)
    built = build(builder, variant, [args.workload])
    if args.workload not in built.programs:
        why = built.problems[args.workload]
        raise Stop(f"sim: {args.workload} is not to be simulated: {why}" +
                   ("" if args.workload in built.absent else f" (see {built.log})"))
    command = [str(built.programs[args.workload]), *rest]
    command += ["--scheduler", spec] if spec else []
    command += ["--seed", str(args.seed)] if args.seed is not None else []
    command += ["--json"] if args.json else []
    return run(command, env, built.programs[args.workload], args)


def _where(file: Path) -> Any:
    """What the program wrote there; None where it came to no end, or the disk is full (it says so)."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def run(command: list[str], env: dict[str, str], program: Path, args: argparse.Namespace) -> int:
    """Runs it, and makes of what it says what was asked for. A program of the user's says nothing of the simulation: for
    that the simulator does, at its end."""
    machine_name = Path(env["TENTER_MACHINE"]).stem
    own = sim_own.named(args.workload)
    with tempfile.TemporaryDirectory() as scratch:
        file, report = Path(scratch) / "where.json", Path(scratch) / "report"
        more = {"SIM_WHERE": str(file), **({"SIM_EVENTS": "1"} if args.trace else {})}
        more |= {"SIM_JSON" if args.json else "SIM_TEXT": str(report)} if own else {}
        to = subprocess.PIPE if not own else 2 if args.json else None   # what it prints itself is no part of a record
        done = subprocess.run(command, env={**env, **more}, stdout=to, check=False, preexec_fn=child.dies_with_runner)
        where = _where(file)
        text = done.stdout.decode(errors="replace") if not own else report.read_text(encoding="utf-8") if where else ""
    code = done.returncode if done.returncode >= 0 else INTERNAL
    if where is None and done.returncode < 0 and done.returncode != -signal.SIGABRT:    # which has said why
        raise Stop(f"sim: {args.workload} was ended by {signal.Signals(-done.returncode).name}", INTERNAL)
    if where is None:                               # --help, or it did not come to its end
        output.write("-", text)
        if own and code == GOOD:
            raise Stop(f"sim: {args.workload} came to no end that the simulator has seen: let main return, or call exit")
        return code
    if args.json:
        said = {"schema": 1, "program": args.workload, "code": code, "sim": json.loads(text)} if own else json.loads(text)
        sim_where.name_record(said, program)
        text = json.dumps(said) + "\n"
    else:
        text = sim_where.name_text(text, where, program)
    if shutil.which("gdb") is None:
        say(f"note: {sim_where.NO_GDB}")
    output.write("-", text)
    if args.traffic:
        sim_where.draw(where, machine_name, args.traffic)
    if args.trace:
        output.write(str(args.trace), json.dumps(sim_where.trace(where, machine_name)))
        if where["cut"]:
            say("note: the trace ends early: it has a million events")
    return code
