# SPDX-License-Identifier: MIT
"""run --merge: shards become one results folder; what is no part of one run is refused."""
from __future__ import annotations

import json
import unittest
from unittest import mock

from fake_tree import ENVIRONMENT, TreeCase

from experiments.runner import tidy

SIX = "program: good\nfactors: {scheduler: [fifo, lifo], workers: [1, 2, 3]}\nblocks: 2\n" \
      "oversubscribed: true\n"


class Merge(TreeCase):
    def setUp(self) -> None:
        super().setUp()
        self.matrix(SIX)
        self.parts = [str(self.results / f"s{i}") for i in (1, 2, 3)]

    def shard(self, number: int, *more: str, of: int = 3) -> None:
        self.out = self.results / f"s{number}"
        self.run_it("m", "--shard", f"{number}/{of}", *more)

    def merge(self, *folders: str) -> int:
        self.out = self.results / "all"
        return self.run_it("--merge", *(folders or self.parts)).code

    def refused(self, *parts: str) -> None:
        self.out = self.results / "all"
        said = self.stops("--merge", *self.parts[:2])
        for part in parts:
            self.assertIn(part, said)
        self.assertFalse(self.out.exists())

    def test_shards_become_the_whole_run(self) -> None:
        for number in (3, 1, 2):                                # as they happen to be run
            self.shard(number)
        self.assertEqual(self.merge(), 0)
        rows = self.rows()
        self.assertEqual(len({(r["cell"], r["block"]) for r in rows}), 12)
        self.assertEqual([r["order"] for r in rows], list(range(12)))
        self.assertEqual([r["started"] for r in rows], sorted(r["started"] for r in rows))
        for row in rows:
            self.assertTrue((self.out / row["output_path"]).exists())
        self.assertEqual((self.results / "latest").resolve(), self.out)
        self.assertEqual((self.out / "env.jsonl").read_text().count("\n"), 1)
        self.assertEqual(len(tidy.load(self.out)["invocation"].unique()), 12)
        self.assertEqual(self.run_it("--resume", str(self.out), out=False).code, 0)
        self.assertEqual(len(self.rows()), 12)                  # there was nothing left to run

    def test_what_no_shard_has_is_missing_and_can_be_run(self) -> None:
        self.shard(1)
        self.shard(2, "--limit", "3")
        self.assertEqual(self.merge(*self.parts[:2]), 3)
        self.assertIn("5 invocations are left", " ".join(self.heard))
        self.run_it("--resume", str(self.out), out=False)
        self.assertEqual(self.statuses(), ["ok"] * 12)

    def test_shards_of_some_cells(self) -> None:
        self.shard(1, "--only", "scheduler=lifo", of=2)
        self.shard(2, "--only", "scheduler=lifo", of=2)
        self.assertEqual(self.merge(*self.parts[:2]), 0)
        self.assertEqual(len(self.rows()), 6)

    def test_other_matrices_are_refused(self) -> None:
        self.shard(1)
        self.matrix(SIX.replace("blocks: 2", "blocks: 3"))
        self.shard(2)
        self.refused("s2/matrix.yaml is not as in", "only parts of one run")

    def test_other_ways_to_run_are_refused(self) -> None:
        self.shard(1)
        self.shard(2, "--seed", "9")
        self.refused("seed is 9 in", "and 1 in")

    def test_other_builds_are_refused(self) -> None:
        self.shard(1)
        with open(self.tree / "bin/good", "a", encoding="utf-8") as file:
            file.write("# other bytes\n")
        self.shard(2)
        self.refused("good is another binary in", "run all parts from one build")

    def test_what_they_share_is_refused(self) -> None:
        self.shard(1)
        self.shard(2, of=2)
        self.refused("block 0 of good", "parts of a run share none")

    def test_usage(self) -> None:
        self.shard(1)
        self.out = self.results / "all"
        first = self.parts[0]
        for argv, text in (((first,), "at least two"), ((first, first + "/"), "at least two"),
                           ((first, "no/such"), "no/such: no results folder"),
                           ((first, "x", "--resume"), "--merge runs nothing: leave out --resume"),
                           ((first, "x", "--quick"), "leave out --quick")):
            self.assertIn(text, self.stops("--merge", *argv))
        self.shard(2)
        self.out = self.results / "all"
        self.assertIn("is a run of 'm', not of 'quick'",
                      self.stops("quick", "--merge", *self.parts[:2]))
        self.merge(*self.parts[:2])
        self.assertIn("holds a run already", self.stops("--merge", *self.parts[:2]))

    def test_several_machines_are_told_of(self) -> None:
        self.shard(1)
        other = {**ENVIRONMENT, "env_id": "f" * 16, "host": "elsewhere"}
        with mock.patch("experiments.runner.environment.capture", lambda _root: dict(other)):
            self.shard(2)
        self.merge(*self.parts[:2])
        self.assertIn("measured on 2 machines", " ".join(self.heard))
        envs = [json.loads(x) for x in (self.out / "env.jsonl").read_text().splitlines()]
        self.assertEqual({r["env_id"] for r in self.rows()}, {e["env_id"] for e in envs})


if __name__ == "__main__":
    unittest.main()
