# SPDX-License-Identifier: MIT
"""A small tree with made-up benchmark programs, for the tests of the runner.

Run as a script it is a runner over such a tree: fake_tree.py TREE RESULTS [arguments of run].
"""
from __future__ import annotations

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from experiments.runner import run as runner_run                            # noqa: E402
from experiments.runner.build import Build, Variant                         # noqa: E402
from experiments.runner.errors import Stop                                  # noqa: E402

GOOD = {"schema": 1, "program": "good", "status": "ok", "message": None, "clock": "none",
        "load": "closed", "binary": {"version": "0", "scheduler": "fifo", "knobs": {}},
        "params": {}, "seed": 1, "counters": {"steal_hit": 1},
        "samples": [{"metric": "throughput", "unit": "1/s", "value": 1000.0, "rep": 0,
                     "warmup": True},
                    {"metric": "throughput", "unit": "1/s", "value": 1100.0, "rep": 1,
                     "warmup": False}],
        "hist": {"latency": {"unit": "ns", "buckets": [[1, 2, 5000]]}}}
OPTIONS = {"about": "sends packets", "options": [
    {"name": "packets", "type": "int", "range": [1, 1000], "default": 10, "unit": "1",
     "common": False, "help": "packets"},
    {"name": "work", "type": "int", "range": [0, 9], "default": 0, "common": False},
    {"name": "loud", "type": "flag", "range": None, "default": False, "common": False},
    {"name": "bench", "type": "list", "range": None, "items": "yield|spawn", "common": False},
    {"name": "workers", "type": "int", "range": [1, 1024], "common": True},
    {"name": "scheduler", "type": "text", "range": None, "common": True},
    {"name": "pin", "type": "flag", "range": None, "default": False, "common": True}]}
ENVIRONMENT = {"schema": 1, "env_id": "0123456789abcdef", "cpus_allowed": [0, 1]}
CONFIG = {"version": "0", "pollers": [{"name": "null", "summary": "", "knobs": []}],
          "schedulers": [
              {"name": "fifo", "summary": "", "knobs": [
                  {"name": "layout", "type": "choice", "range": "local|global"},
                  {"name": "capacity", "type": "int", "range": "1..65536"}]},
              {"name": "lifo", "summary": "", "knobs": []}]}


def _printing(text: str, then: str = "exit 0") -> str:
    return f"cat <<'END'\n{text}\nEND\n{then}\n"


def _with(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes})


#: name -> what the program does after --list has been answered
PROGRAMS = {
    "simulated": _printing(_with(sim={"machine": "m", "cores": 1, "lines": [], "host": {"cpu_s": 1.0}})),
    "good": _printing(json.dumps(GOOD)),
    "packet": _printing(json.dumps(GOOD)),
    "crash": "echo about to fall >&2\nkill -SEGV $$\n",
    "hang": "sleep 60 & echo $! >\"$(dirname \"$0\")/hang.pid\"\nsleep 60\n",
    "invalid": _printing(_with(status="invalid", message="42 lines, not 43"), "exit 1"),
    "saturated": _printing(_with(status="saturated", message="fell behind")),
    "badjson": "echo '{\"schema\": 1,'\n",
    "twojson": _printing(json.dumps(GOOD) + "\n" + json.dumps(GOOD)),
    "nosamples": _printing(_with(samples=[])),
    "infinite": _printing(json.dumps(GOOD).replace("1100.0", "1e999")),
    "usage": "echo 'usage: unknown option' >&2\nexit 2\n",
    "unsupported": "echo 'no such hardware' >&2\nexit 77\n",
    "silent": "exit 0\n",
    # waits for the file `go` beside it
    "slow": "here=$(dirname \"$0\")\necho $$ >\"$here/slow.pid\"\n"
            "n=0; until [ -e \"$here/go\" ] || [ $n -ge 600 ]; do sleep 0.1; n=$((n+1)); done\n"
            + _printing(json.dumps(GOOD)),
    # ends when two of it have been at it at once
    "pair": "here=$(dirname \"$0\")\n: >\"$here/pair.$$\"\n"
            "n=0; until [ -e \"$here/both\" ] || [ $n -ge 50 ]; do\n"
            "set -- \"$here\"/pair.*; [ $# -lt 2 ] || : >\"$here/both\"; sleep 0.1; n=$((n+1)); done\n"
            "rm \"$here/pair.$$\"\n[ -e \"$here/both\" ] || exit 9\n" + _printing(json.dumps(GOOD)),
    "brief": "sleep 0.1\n" + _printing(json.dumps(GOOD)),
    "big": "head -c 20000 /dev/zero | tr '\\0' ' '\n" + _printing(json.dumps(GOOD)),
}


def make(tree: Path) -> None:
    (tree / "experiments/matrices").mkdir(parents=True)
    (tree / "experiments/workloads").mkdir()
    (tree / "bin").mkdir()
    (tree / "experiments/matrices/schema.json").symlink_to(
        ROOT / "experiments/matrices/schema.json")
    for name in ("fifo", "lifo", "broken"):
        (tree / "schedulers" / name).mkdir(parents=True)
        (tree / "schedulers" / name / f"{name}.c").touch()
    (tree / "meson_options.txt").write_text(
        "option('schedulers', type: 'array')\noption('observe', type: 'combo')\n"
        "option('runtime', type: 'combo')\n")
    for name, body in PROGRAMS.items():
        (tree / f"experiments/workloads/{name}.c").write_text("int main(void) { return 0; }\n")
        program(tree, name, body)
    (tree / "experiments/workloads/peer.c").write_text("int main(void) { return 0; }\n")
    program(tree, "tenter-config", _printing(json.dumps(CONFIG)))


def program(tree: Path, name: str, body: str) -> None:
    path = tree / "bin" / name
    path.write_text("#!/bin/sh\nfor a; do case $a in --list)\n"
                    + _printing(json.dumps(OPTIONS), "exit 0") + ";; esac; done\n" + body)
    path.chmod(0o755)


class FakeBuilder:
    """Finds programs in tree/bin; the module `broken` does not compile."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.variants: list[str] = []

    def targets(self, variant: Variant, wanted: dict[str, str]) -> Build:
        modules = dict(variant.options).get("schedulers", "")
        self.variants.append(modules)
        log = self.tree / "build.log"
        log.write_text("broken.c:3:1: error: expected ';'\n")
        out = Build(log=log)
        for name in wanted:
            path = self.tree / "bin" / name
            if modules == "broken":
                out.problems[name] = "broken.c:3:1: error: expected ';'"
            elif path.exists():
                out.programs[name] = path
            else:
                out.problems[name] = f"there is no program '{name}' in this build"
                out.absent.add(name)
        return out


class TreeCase(unittest.TestCase):
    """A fresh tree for each test; the report is another part's business."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.tree = Path(holder.name).resolve()
        make(self.tree)
        self.results = self.tree / "results"
        self.out = self.results / "run"
        for name, value in (("outcome.finish", lambda *_: {}), ("run.say", self.hear),
                            ("outcome.say", self.hear), ("merge.say", self.hear),
                            ("progress.say", self.hear),
                            ("environment.capture", lambda _root: dict(ENVIRONMENT))):
            patch = mock.patch("experiments.runner." + name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.heard: list[str] = []

    def hear(self, text: str) -> None:
        self.heard.append(text)

    def matrix(self, text: str, name: str = "m") -> Path:
        head = f"name: {name}\ntitle: a test\n" if "name:" not in text else ""
        path = self.tree / f"experiments/matrices/{name}.yaml"
        path.write_text(head + text)
        return path

    def run_it(self, *argv: str, out: bool = True) -> runner_run.Outcome:
        more = ["--out", str(self.out)] if out else []
        return runner_run.run([*argv, *more], self.tree, FakeBuilder(self.tree), self.results)

    def stops(self, *argv: str, code: int = 2, out: bool = True) -> str:
        with self.assertRaises(Stop) as caught:
            self.run_it(*argv, out=out)
        self.assertEqual(caught.exception.code, code, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def rows(self, folder: Path | None = None) -> list[dict[str, Any]]:
        text = ((folder or self.out) / "rows.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def statuses(self) -> list[str]:
        return sorted(row["status"] for row in self.rows())


def _main(argv: list[str]) -> int:
    tree, results, rest = Path(argv[0]), Path(argv[1]), argv[2:]
    with mock.patch("experiments.runner.outcome.finish", lambda *_: {}):
        try:
            return runner_run.run(rest, tree, FakeBuilder(tree), results).code
        except Stop as error:
            print(f"tenter: {error}", file=sys.stderr)
            return error.code


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    sys.exit(_main(sys.argv[1:]))
