# SPDX-License-Identifier: MIT
"""`sim --calibrate`: a machine whose figures are known is found; noise, one core and bad files are told."""
from __future__ import annotations

import shutil
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from fake_tree import ROOT

from experiments.runner import calibrate, invoke, sim
from experiments.runner.errors import Stop

TRUE = {"instruction": 0.2, "hit": 0.5, "memory": 90.0, "atomic": 7.0, "fence": 9.0, "pause": 21.0, "clock": 31.0,
        "malloc": 12.0, "park": 900.0, "wake": 1700.0, "start": 4000.0, "yield": 700.0, "create": 20000.0,
        "heavy": 2500.0, "interrupt": 800.0, "slice": 2.5e6, "transfer": 40.0, "call": 250.0}


def kernels(figure: dict[str, Any]) -> dict[str, float]:
    """The time of each kernel on a machine with these figures."""
    get = {k: v[0] if isinstance(v, list) else v for k, v in figure.items()}
    work = {"work_list": (10, 4), "work_hash": (20, 3), "work_heap": (60, 9), "work_parse": (12, 5), "work_call": (40, 14)}
    return {**{k: a * get["instruction"] + b * get["hit"] for k, (a, b) in work.items()},
            **{k: get[k] + get["hit"] for k in ("atomic", "fence", "pause", "clock", "yield", "park", "call", "heavy")},
            "malloc": 2 * get["malloc"] + 3, "transfer": 4 * get["transfer"] + 3 * get["instruction"],
            "wake": get["wake"] + get["clock"], "start": get["wake"] + get["start"] + get["clock"],
            "create": get["create"] + get["start"] + get["park"], "interrupt": min(get["interrupt"], get["heavy"]),
            "memory": get["memory"], "slice": get["slice"]}


class Fake:
    """In the place of the program: `noisy` kernels scatter, of `missing` ones it says nothing."""

    def __init__(self, noisy: tuple[str, ...] = (), missing: tuple[str, ...] = ()) -> None:
        self.noisy, self.missing = noisy, missing

    def __call__(self, machine: Path | None, args: list[str]) -> calibrate.Samples:
        figure = TRUE if machine is None else yaml.safe_load(machine.read_text(encoding="utf-8"))
        if machine is not None and figure["transfer"] != sorted(figure["transfer"]):
            raise AssertionError("the simulator refuses a line that comes sooner from farther away")
        said = kernels({k: v if isinstance(v, list) else float(v) for k, v in figure.items()})
        cases = args[args.index("--case") + 1].split(",")
        return {k: [said[k] * f for f in ((1, 9, 10, 11, 12, 14) if k in self.noisy and machine is None else (1, 1.02, 1.1))]
                for k in cases if k not in self.missing} if machine is None else {k: [said[k]] for k in cases}


class Solving(unittest.TestCase):
    def calibrated(self, run: Fake, layers: int = 1) -> tuple[dict[str, Any], str]:
        where = ([0, 1][:layers + 1], [(2, "a socket", 1)][:layers], [(32, 8, 1), (1024, 16, 1), (8192, 16, 2)])
        with tempfile.TemporaryDirectory() as scratch, mock.patch.object(calibrate, "topology", lambda **_: where), \
                mock.patch.object(calibrate, "say", lambda text: None):
            text = calibrate.calibrate(ROOT, run, Path(scratch)).machine.text()
        return yaml.safe_load(text), text

    def test_found(self) -> None:
        figure, text = self.calibrated(Fake())
        for name, value in TRUE.items():
            found = figure[name][0] if isinstance(figure[name], list) else figure[name]
            self.assertAlmostEqual(float(found) / value, 1, delta=0.03, msg=name)
        self.assertEqual((figure["cores"], figure["layers"], len(figure["transfer"])), (2, [2], 2))
        self.assertEqual((figure["capacity"], figure["sharing"]), ([32, 1024, 8192], [1, 1, 2]))
        self.assertEqual(set(figure), set(calibrate.defaults(ROOT)), "each key of a machine, and no other")
        for line in text.splitlines():
            if not line.startswith("#"):
                self.assertRegex(line, r"#.*\[\w+\]", "no source")

    def test_noisy(self) -> None:
        figure, text = self.calibrated(Fake(noisy=("wake", "work_hash")))
        self.assertEqual(figure["wake"], calibrate.defaults(ROOT)["wake"])
        self.assertIn("wake: too noisy", text)
        self.assertAlmostEqual(figure["instruction"], 0.2, delta=0.01)
        self.assertRegex(text, r"error over 4 kernels")
        figure, text = self.calibrated(Fake(missing=calibrate.WORK))
        self.assertIn("fewer than three work kernels", text)
        self.assertEqual(figure["instruction"], calibrate.defaults(ROOT)["instruction"])

    def test_quick_fence(self) -> None:
        """What a heavy fence costs others is found too where it takes less than the default's interruption."""
        with mock.patch.dict(TRUE, heavy=600.0, interrupt=200.0):
            figure, _text = self.calibrated(Fake())
        self.assertAlmostEqual(figure["interrupt"] / 200, 1, delta=0.03)

    def test_poor_fit(self) -> None:
        """Kernels that one figure for an instruction does not fit: the file says so, and so does the exit code."""
        class Odd(Fake):
            def __call__(self, machine: Path | None, args: list[str]) -> calibrate.Samples:
                said = super().__call__(machine, args)
                for name, factor in (("work_list", 2.0), ("work_parse", 0.4), ("work_call", 1.8)):
                    if machine is None and name in said:
                        said[name] = [factor * x for x in said[name]]
                return said
        _figure, text = self.calibrated(Odd())
        self.assertRegex(text, r"(?m)^# Note: instruction: its kernels do not fit one figure \(\d+ %, at most 15 % is good\)")
        done = mock.Mock(machine=mock.Mock(text=lambda: text), notes=[text])
        done.notes = [line[8:] for line in text.splitlines() if line.startswith("# Note: instruction")]
        said: list[str] = []
        built = mock.Mock(programs={calibrate.PROGRAM: Path("x")})
        with mock.patch.multiple(calibrate, build=lambda *_: built, calibrate=lambda *_: done, write=lambda *_: Path("y"),
                                 say=said.append), mock.patch("builtins.print"):
            self.assertEqual(calibrate.main(ROOT, mock.Mock()), 3)
        self.assertIn("not to be relied on: instruction ", said[0])
        _figure, text = self.calibrated(Fake())
        self.assertNotIn("do not fit", text)

    def test_slow_transfer(self) -> None:
        """Lines that take longer than the default's from the farthest core."""
        with mock.patch.dict(TRUE, transfer=300.0):
            figure, _text = self.calibrated(Fake())
        self.assertAlmostEqual(figure["transfer"][0] / 300, 1, delta=0.03)

    def test_one_core(self) -> None:
        figure, text = self.calibrated(Fake(), layers=0)
        self.assertEqual((figure["cores"], len(figure["transfer"])), (1, 2))
        self.assertIn("one core only: transfer, wake, start, heavy, interrupt could not be measured", text)
        self.assertRegex(text, r"heavy: .*not measured: of epyc7702x2 \[D\]")

    def test_topology(self) -> None:
        """Two sockets of two caches of two cores, each of two siblings: the cores, and a core for each layer."""
        with tempfile.TemporaryDirectory() as folder:
            for n in range(16):
                core = n % 8
                for name, value in ((("topology/thread_siblings_list"), f"{core},{core + 8}"),
                                    ("topology/package_cpus_list", "0-3,8-11" if core < 4 else "4-7,12-15"),
                                    ("topology/physical_package_id", str(core // 4)),
                                    ("cache/index0/level", "3"), ("cache/index0/type", "Unified"),
                                    ("cache/index0/size", "16384K"),
                                    ("cache/index0/ways_of_associativity", "16"),
                                    ("cache/index0/shared_cpu_list", f"{core // 2 * 2}-{core // 2 * 2 + 1}")):
                    file = Path(folder) / f"cpu{n}" / name
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(value + "\n", encoding="utf-8")
            cores, layers, caches = calibrate.topology(folder, set(range(16)))
            self.assertEqual((cores, [(w, c) for w, _y, c in layers]), (list(range(8)), [(2, 1), (4, 2), (8, 4)]))
            self.assertEqual(caches, [(16384, 16, 2)])


class Files(unittest.TestCase):
    def test_bad(self) -> None:
        """Missing, half written, no YAML at all: one line that says what to do."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            shutil.copytree(ROOT / calibrate.MACHINES, root / calibrate.MACHINES)
            with self.assertRaises(Stop) as stop:
                calibrate.path(root)
            self.assertIn("not calibrated: ./tenter sim --calibrate", str(stop.exception))
            self.assertIn("not calibrated", sim.machines(root)["host"])
            whole = (root / calibrate.MACHINES / "epyc7702x2.yaml").read_text(encoding="utf-8")
            file = root / calibrate.FILE
            file.parent.mkdir()
            for text in (whole[:len(whole) // 2], whole[:-1], "", "\x00\x01", "a: [", "- 1\n"):
                file.write_text(text, encoding="utf-8")
                with self.subTest(text[-20:]), self.assertRaises(Stop) as stop:
                    calibrate.path(root)
                self.assertRegex(str(stop.exception), r"^results/host.yaml is not whole.*--calibrate.*anew$")
                self.assertNotIn("\n", str(stop.exception))
            file.write_text(whole, encoding="utf-8")
            with mock.patch.object(calibrate, "say") as said, \
                    mock.patch.object(calibrate.environment, "cpu_model", lambda: "Other CPU"):
                self.assertEqual(calibrate.path(root), file)
            self.assertIn("another processor", said.call_args[0][0])

    def test_matrix(self) -> None:
        """In a matrix `host` is the same file."""
        with mock.patch.object(calibrate, "path", lambda root: Path("/x/host.yaml")):
            self.assertEqual(invoke.simulated({"TENTER_MACHINE": "host"}), {"TENTER_MACHINE": "/x/host.yaml"})
        self.assertEqual(invoke.simulated({"TENTER_MACHINE": "d1548"}), {"TENTER_MACHINE": "d1548"})


if __name__ == "__main__":
    unittest.main()
