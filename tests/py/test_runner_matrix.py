# SPDX-License-Identifier: MIT
"""Matrices: expansion, and what is said of a bad one."""
from __future__ import annotations

import json
import unittest
from pathlib import Path

from fake_tree import CONFIG, ROOT, TreeCase, program

from experiments.runner import known, matrix as matrices
from experiments.runner.errors import Stop, nearest


class Expansion(TreeCase):
    def load(self, text: str, **more: object) -> matrices.Matrix:
        path = self.matrix(text)
        return matrices.load(self.tree, path, cores=2, **more)  # type: ignore[arg-type]

    def test_cross_product_include_exclude(self) -> None:
        found = self.load("program: good\nfactors: {scheduler: [fifo, lifo], workers: [1, 2]}\n"
                          "exclude: [{scheduler: lifo, workers: 2}]\n"
                          "include:\n  - factors: {program: peer, workers: [1, 2]}\n"
                          "    optional: true\n")
        self.assertEqual([c.label() for c in found.cells],
                         ["good scheduler=fifo workers=1", "good scheduler=fifo workers=2",
                          "good scheduler=lifo workers=1", "peer workers=1", "peer workers=2"])
        self.assertEqual([c.optional for c in found.cells], [False] * 3 + [True] * 2)

    def test_same_cell_twice_is_one(self) -> None:
        found = self.load("program: good\nfactors: {workers: 1}\n"
                          "include: [{factors: {workers: [1, 2]}}]\n")
        self.assertEqual(len(found.cells), 2)

    def test_cores(self) -> None:
        text = "program: good\nfactors: {workers: [1..cores, 2*cores, 3]}\n"
        self.assertEqual([c.params["workers"] for c in
                          self.load(text + "oversubscribed: true\n").cells], [1, 2, 3, 4])
        found = self.load(text)
        self.assertEqual([c.params["workers"] for c in found.cells], [1, 2])
        self.assertIn("left out", found.notes[0])

    def test_oversubscribed_cells_are_marked(self) -> None:
        found = self.load("program: good\nfactors: {workers: [2, 3]}\noversubscribed: true\n")
        self.assertEqual([c.oversubscribed for c in found.cells], [False, True])

    def test_off_is_a_word(self) -> None:
        found = self.load("program: good\nfactors: {workers: 1}\n"
                          "build: {observe: [off, counters]}\n")
        self.assertEqual([c.build["observe"] for c in found.cells], ["off", "counters"])
        self.assertNotIn("--observe", found.cells[0].arguments(1))

    def test_variables_of_the_environment(self) -> None:
        (self.tree / "core").mkdir(exist_ok=True)
        (self.tree / "core/config.c").write_text('K(stall_ms, NULL)\nvariables[] = {{.name = "GUARDS"}};\n'
                                                 'families[] = {"TEST_"};\n')
        text = "program: good\nfactors: {workers: 1, TENTER_%s: [0, 5]}\n"
        found = self.load(text % "STALL_MS")
        known.check_names(self.tree, found)
        self.assertEqual(found.cells[1].variables(), {"TENTER_STALL_MS": "5"})
        self.assertEqual(found.cells[1].arguments(1)[-2:], ["--workers", "1"])
        with self.assertRaisesRegex(Stop, r"unknown variable 'TENTER_STALLS'.*TENTER_STALL_MS"):
            known.check_names(self.tree, self.load(text % "STALLS"))

    def test_machines(self) -> None:
        """What a simulated program would refuse is said before anything is built, at its line; and no other program has that."""
        (self.tree / "core").mkdir(exist_ok=True)
        (self.tree / "core/config.c").write_text('K(stall_ms, NULL)\nvariables[] = {' + ", ".join(
            f'{{.name = "{n}"}}' for n in ("MACHINE", "CORES", "CAPACITIES", "SMT")) + '};\nfamilies[] = {"TEST_"};\n')
        (self.tree / "sim/machines").mkdir(parents=True)
        (self.tree / "sim/machines/two.yaml").write_text("# of pairs\ncores: 8 # x\n")
        text = "program: good\nbuild: {runtime: sim}\nfactors:\n  workers: 1\n"
        for good in ("TENTER_MACHINE: [two, host]\n  TENTER_CORES: [1, 8]", "TENTER_CORES: [256]", "TENTER_SMT: [0, 1]",
                     f"TENTER_MACHINE: {self.tree}/sim/machines/two.yaml"):
            known.check_names(self.tree, self.load(text + f"  {good}\n"))
        for bad, said in (("TENTER_MACHINE: [three]", "no machine 'three' (valid: host, two; a file of your own has a slash"),
                          ("TENTER_MACHINE: ./two.yaml", "no machine './two.yaml'"), ("TENTER_CORES: many", "'many' is not a number"),
                          ("TENTER_MACHINE: two\n  TENTER_CORES: [8, 9]", "TENTER_CORES: 9: the machine 'two' has 8"),
                          ("TENTER_CORES: 257", "257 is out of range"), ("TENTER_CORES: 1.5", "1.5 is no whole number"),
                          ("TENTER_CAPACITIES: 2", "TENTER_CAPACITIES: 2 is out of range")):
            with self.subTest(bad), self.assertRaises(Stop) as stop:
                known.check_names(self.tree, self.load(text + f"  {bad}\n"))
            self.assertIn(said, str(stop.exception))
            self.assertRegex(str(stop.exception), r"\.yaml:[678]: ")
        with self.assertRaises(Stop) as stop:
            known.check_names(self.tree, self.load("program: good\nfactors: {workers: 1, TENTER_MACHINE: two}\n"))
        self.assertIn("TENTER_MACHINE is for simulated cells, which have build: {runtime: sim}", str(stop.exception))

    def test_arguments(self) -> None:
        found = self.load("program: good\nfactors: {scheduler: 'fifo:layout=global', workers: 2,"
                          " pin: [true, false], local_capacity: 8}\noptions: {packets: 7}\n"
                          "reps: 3\nwarmup: 2\n")
        self.assertEqual(found.cells[0].arguments(9), [
            "--json", "--hist", "--seed", "9", "--reps", "3", "--warmup", "2", "--packets", "7",
            "--scheduler", "fifo:layout=global", "--workers", "2", "--pin",
            "--local-capacity", "8"])
        self.assertNotIn("--pin", found.cells[1].arguments(9))
        self.assertEqual(found.cells[0].build, {"schedulers": "fifo"})

    def test_module_outside_the_tree(self) -> None:
        found = self.load("program: good\nfactors: {scheduler: '../mine:n=1'}\n")
        place = self.tree / "experiments/mine"
        self.assertEqual(found.cells[0].build["schedulers"], str(place))
        self.assertIn("mine:n=1", found.cells[0].arguments(1))
        with self.assertRaisesRegex(Stop, "mine.c is not there"):
            known.check_names(self.tree, found)

    def test_quick(self) -> None:
        text = ("program: good\nfactors: {workers: 1}\nblocks: 9\nreps: 9\n"
                "options: {packets: 100, work: 1}\n")
        found = self.load(text, quick=True)
        self.assertEqual((found.blocks, found.cells[0].reps), (3, 2))
        found = self.load(text + "quick: {blocks: 4, options: {packets: 5}}\n", quick=True)
        self.assertEqual(found.blocks, 4)
        self.assertEqual(found.cells[0].options, {"packets": 5, "work": 1})

    def test_quick_takes_less(self) -> None:
        """What is told of an invocation is told of all its repetitions, each as long as `duration` says."""
        text = ("program: good\nfactors: {packets: [2]}\nreps: 3\nwarmup: 1\nestimate: 12\noptions: {duration: 2}\n"
                "include:\n  - {factors: {packets: [3]}, options: {duration: 4}, estimate: 20}\n"
                "  - factors: {packets: [4]}\n"
                "quick: {blocks: 4, reps: 1, options: {duration: 0.5}}\n")
        self.assertEqual([c.estimate for c in self.load(text).cells], [12, 20, 12])
        self.assertEqual([c.estimate for c in self.load(text, quick=True).cells], [12 / 2 / 4, 20 / 2 / 8, 12 / 2 / 4])

    def test_quick_options_of_several_programs(self) -> None:
        text = ("options: {seconds: 9}\ninclude:\n"
                "  - factors: {program: good, workers: 1}\n    options: {packets: 9}\n"
                "  - factors: {program: peer, workers: 1}\nquick: {options: {packets: 5, seconds: 1}}\n")
        self.assertEqual([c.options for c in self.load(text, quick=True).cells],
                         [{"seconds": 1, "packets": 5}, {"seconds": 1}])

    def test_quick_leaves_out(self) -> None:
        text = ("program: good\nfactors: {workers: [1, 2], packets: [1, 2]}\nexclude: [{workers: 2, packets: 2}]\n"
                "quick: {exclude: [{packets: [2, 3]}]}\n")
        self.assertEqual(len(self.load(text).cells), 3)
        self.assertEqual([c.label() for c in self.load(text, quick=True).cells],
                         ["good workers=1 packets=1", "good workers=2 packets=1"])

    def test_identity(self) -> None:
        one, two = self.load("program: good\nfactors: {workers: [1, 2]}\n").cells
        self.assertNotEqual(one.id("a"), two.id("a"))
        self.assertNotEqual(one.id("a"), one.id("b"))
        again = self.load("factors: {workers: [1, 2]}\nprogram: good\n").cells[0]
        self.assertEqual(one.id("a"), again.id("a"))


class Breaches(TreeCase):
    def refused(self, text: str, *parts: str) -> None:
        path = self.matrix(text)
        said = self.stops("m")
        for part in parts:
            self.assertIn(part, said)
        self.assertIn(str(path), said)
        self.assertEqual(self.stops("m", "--plan"), said)   # a plan refuses what a run does

    def test_file_line_reason(self) -> None:
        self.refused("program: good\nfactors: {workers: 1}\nblokcs: 3\n",
                     "m.yaml:5: unknown key 'blokcs'", "nearest: blocks")
        self.refused("program: good\nfactors:\n  workers:\n    - {a: 1}\n", "m.yaml:5:", "workers")
        self.refused("program: good\nfactors: {workers: 1}\nblocks: many\n",
                     "m.yaml:5: blocks must be of type integer")
        self.refused("program: good\nfactors: {workers: 1}\nblocks: 0\n", "m.yaml:5:")
        self.refused("program: good\nfactors: {workers: 1}\norder: block\n",
                     "m.yaml:5: order cannot be 'block'", "nearest: blocks")
        self.refused("program: good\n", "neither 'factors' nor 'include'")
        self.refused("program: good\nfactors:\n  WORKERS: 1\n", "m.yaml:5: 'WORKERS'")
        self.refused("program: good\nfactors: {workers: 1\n", "not YAML")
        self.refused("program: good\nfactors: {workers: 1}\nprogram: good\n",
                     "m.yaml:5: 'program' is given twice, first on line 3")
        self.refused("program: good\nfactors: &f\n  workers: *f\n", "m.yaml:4: this contains itself")
        self.refused(f"program: good\nfactors: {'[' * 3000}{']' * 3000}\n", "m.yaml:1: nested too deeply")
        self.refused("factors: {workers: 1}\n", "m.yaml:3: no program")
        self.refused("program: good\nfactors: {workers: 5..2}\n", "m.yaml:4: the range 5..2")
        self.refused("program: good\nfactors: {seed: 1}\n", "m.yaml:4: 'seed' is given by")
        for name in ("block", "unit", "count"):
            self.refused(f"program: good\nfactors: {{workers: 1, {name}: [1, 2]}}\n",
                         f"m.yaml:4: '{name}' cannot be a factor")
        self.refused("program: good\nfactors: {workers: 1}\ninclude:\n  - factors: {order: 1}\n", "m.yaml:6: 'order'")

    def test_too_many_cells_are_refused_before_they_are_made(self) -> None:
        self.refused("program: good\nfactors: {workers: [0..9999999]}\n",
                     "m.yaml:4: the range 0..9999999 has 10000000 values")
        self.refused("program: good\nfactors: {workers: 0..90000, packets: 1..90000}\n",
                     "m.yaml:4: 8100090000 cells")

    def test_a_matrix_without_a_title_has_its_name(self) -> None:
        path = self.tree / "experiments/matrices/bare.yaml"
        path.write_text("name: bare\nprogram: good\nfactors: {workers: 1}\n", encoding="utf-8")
        self.assertEqual(matrices.load(self.tree, path).title, "bare")
        path.write_text("title: t\nprogram: good\nfactors: {workers: 1}\n", encoding="utf-8")
        with self.assertRaisesRegex(Stop, "bare.yaml:1: the file lacks 'name'"):
            matrices.load(self.tree, path)

    def test_unknown_names(self) -> None:
        self.refused("program: pakcet\nfactors: {workers: 1}\n",
                     "m.yaml:3: unknown program 'pakcet' (nearest: packet)")
        self.refused("program: good\nfactors:\n  workers: 1\n  scheduler: fif\n",
                     "m.yaml:6: unknown module 'fif' (nearest: fifo)")
        self.refused("program: good\nfactors:\n  worker: 1\n",
                     "m.yaml:5: unknown factor 'worker'", "nearest: workers")
        self.refused("program: good\nfactors: {workers: 1}\noptions: {pakets: 1}\n",
                     "m.yaml:5: unknown factor 'pakets'", "nearest: packets")
        self.refused("program: good\nfactors: {workers: 1}\nexclude: [{wrokers: 1}]\n",
                     "m.yaml:5: unknown factor 'wrokers' (nearest: workers)")
        self.refused("program: good\nfactors: {workers: 1}\nquick: {options: {packets: 1}}\n",
                     "m.yaml:5: 'packets' is no option of this matrix, which quick could change")
        self.refused("program: good\nfactors: {workers: 1}\nquick: {exclude: [{wrokers: 1}]}\n",
                     "m.yaml:5: unknown factor 'wrokers' (nearest: workers)")
        self.refused("program: good\nfactors: {workers: 1}\nbuild: {obsrve: off}\n",
                     "m.yaml:5: unknown build option 'obsrve' (nearest: observe)")

    def test_figures(self) -> None:
        (self.tree / "plots").mkdir()
        (self.tree / "plots/throughput.py").touch()
        self.refused("program: good\nfactors: {workers: 1}\nfigures:\n  - throuhgput\n",
                     "m.yaml:6: unknown figure 'throuhgput' (nearest: throughput)")

    def test_ranges(self) -> None:
        self.refused("program: good\nfactors: {packets: [1, 2000]}\n",
                     "m.yaml:4: packets of good: 2000 is out of range (1..1000)")
        self.refused("program: good\nfactors: {workers: 1}\noptions: {bench: 'yield,spwan'}\n",
                     "m.yaml:5: bench of good: 'spwan' is none of yield|spawn (nearest: spawn)")

    def test_knobs(self) -> None:
        self.refused("program: good\nfactors: {scheduler: 'fifo:layuot=global'}\n",
                     "m.yaml:4: unknown knob 'layuot' of fifo (nearest: layout)")
        self.refused("program: good\nfactors: {scheduler: 'fifo:capacity=0'}\n",
                     "knob capacity of fifo: 0 is out of range (1..65536)")
        self.refused("program: good\nfactors: {scheduler: 'fifo:capacity=1M'}\n", "1..65536")
        self.refused("program: good\nfactors: {scheduler: 'fifo:layout=lokal'}\n",
                     "'lokal' is none of local|global (nearest: local)")
        self.refused("program: good\nfactors: {scheduler: 'fifo:global'}\n", "is no knob=value")
        self.assertFalse(self.out.exists())

    def test_knobs_of_a_module_outside_the_tree(self) -> None:
        (self.tree / "mine").mkdir()
        (self.tree / "mine/mine.c").touch()
        text = "program: good\nfactors: {scheduler: '../../mine:size=3'}\n"
        self.matrix(text)
        self.assertEqual(self.run_it("m", "--plan").code, 0)    # it does not say what it is
        mine = {"name": "mine", "knobs": [{"name": "size", "type": "int", "range": "4..8"}]}
        program(self.tree, "tenter-config",
                f"echo '{json.dumps({**CONFIG, 'schedulers': [mine]})}'\n")
        self.refused(text, f"knob size of {self.tree}/mine: 3 is out of range (4..8)")

    def test_unknown_matrix(self) -> None:
        self.matrix("program: good\nfactors: {workers: 1}\n", "packet")
        self.assertEqual(self.stops("pakcet"), "unknown matrix 'pakcet' (nearest: packet)")
        self.assertIn("no such matrix file", self.stops("no/such.yaml"))

    def test_a_path_outside_the_tree(self) -> None:
        path = self.tree / "elsewhere.yaml"
        path.write_text("name: other\ntitle: t\nprogram: good\nfactors: {workers: 1}\nblocks: 1\n")
        self.assertEqual(self.run_it(str(path)).code, 0)


class Shipped(unittest.TestCase):
    def test_each_matrix_of_the_tree_loads(self) -> None:
        for name in matrices.names(ROOT):
            with self.subTest(matrix=name):
                found = matrices.load(ROOT, matrices.find(ROOT, name), cores=2)
                self.assertEqual(found.name, name)
                self.assertGreater(len(found.cells), 0)

    def test_quick_has_three_points_on_two_cores(self) -> None:
        found = matrices.load(ROOT, matrices.find(ROOT, "quick"), cores=2)
        for scheduler in ("fifo", "lifo", None):
            workers = {c.params["workers"] for c in found.cells
                       if c.params.get("scheduler") == scheduler}
            self.assertGreaterEqual(len(workers), 3)

    def test_shipped_runs_have_blocks_enough_to_decide(self) -> None:
        for name, quick in (("quick", False), ("micro", False), ("packet", False),
                            ("packet", True)):
            found = matrices.load(ROOT, matrices.find(ROOT, name), quick, cores=2)
            self.assertGreaterEqual(found.blocks, 6, name)

    def test_nearest(self) -> None:
        self.assertEqual(nearest("lfio", ["fifo", "lifo"]), "nearest: lifo")
        self.assertEqual(nearest("zzz", ["fifo", "lifo"]), "valid: fifo, lifo")
        self.assertEqual(nearest("x", []), "there is none")

    def test_misfit_reads_every_form_of_a_range(self) -> None:
        for span in ("1..64K", [1, 65536], "[1, 65536]"):
            self.assertIsNone(known.misfit("64K", {"range": span}), span)
            self.assertIn("out of range", known.misfit(65537, {"range": span}) or "", span)
        self.assertIsNone(known.misfit(5, {"range": "1.."}))
        self.assertIsNone(known.misfit("x", {}))
        self.assertIn("none of", known.misfit("c", {"range": ["a", "b"]}) or "")

    def test_files_stay_short(self) -> None:
        for path in (ROOT / "experiments/runner").glob("*.py"):
            self.assertLessEqual(len(Path(path).read_text().splitlines()), 400, path)


if __name__ == "__main__":
    unittest.main()
