# SPDX-License-Identifier: MIT
"""Counters: what the machine has is asked once, with a time-out; what it lacks is said, never zero."""
from __future__ import annotations

import json
import os
import unittest
from pathlib import Path
from unittest import mock

from fake_tree import GOOD, TreeCase, _printing, program

import synthetic
from experiments.runner import counters, doctor, environment, report, tidy

LACKING = {**GOOD, "counters": {"sw_page_faults": 64, "hw_cycles": None},
           "unavailable": {"hw_cycles": "no such event"}}


class Fresh(TreeCase):
    def setUp(self) -> None:
        super().setUp()
        for probe in (counters.hardware, counters.software, counters.likwid):
            probe.cache_clear()
            self.addCleanup(probe.cache_clear)

    def likwid_says(self, body: str) -> None:
        """A likwid-perfctr of our own, first on the path; each call is written down."""
        path = self.tree / "bin/likwid-perfctr"
        path.write_text(f"#!/bin/sh\necho \"$*\" >>{self.tree}/calls\n{body}\n")
        path.chmod(0o755)
        patch = mock.patch.dict(os.environ, {"PATH": f"{path.parent}:{os.environ['PATH']}"})
        patch.start()
        self.addCleanup(patch.stop)

    def calls(self) -> list[str]:
        return (self.tree / "calls").read_text().splitlines()


class Probes(Fresh):
    def test_software_events_are_real_or_refused(self) -> None:
        why = counters.software()
        self.assertTrue(why is None or why.startswith("perf_event_open: "), why)

    def test_hardware_that_opens_but_counts_nothing_is_unavailable(self) -> None:
        with mock.patch.object(os, "read", lambda _fd, n: bytes(n)), \
                mock.patch.object(counters, "_HARDWARE", counters._SOFTWARE):
            why = counters.hardware()
        if counters.software() is None:
            self.assertEqual(why, "the event opens, but counts nothing")

    def test_likwid_without_groups(self) -> None:
        self.likwid_says("echo 'Unsupported Processor'; echo 'No groups defined for nil'")
        self.assertIn("knows no group", counters.likwid() or "")
        self.assertEqual(self.calls(), ["-a"])

    def test_likwid_that_hangs_is_asked_once(self) -> None:
        self.likwid_says("[ \"$1\" = -a ] && echo CLOCK && exit 0\nexec sleep 60")
        with mock.patch.object(counters, "LIKWID_PATIENCE", 0.3):
            for _ in range(3):
                self.assertIn("no answer in 0.3 s", counters.likwid() or "")
        self.assertEqual(len(self.calls()), 2)

    def test_likwid_that_counts(self) -> None:
        self.likwid_says("echo CLOCK")
        self.assertIsNone(counters.likwid())
        self.assertEqual(counters.captured()["likwid"], "yes")

    def test_doctor_names_them(self) -> None:
        self.likwid_says("echo 'No groups defined for nil'")
        text = doctor._text({"interpreter": "", "packages": [], "limits": [], "machine": [],
                             "kernel": doctor.kernel()})
        for name in ("software events of perf", "hardware counters", "likwid"):
            self.assertIn(name, text)
        self.assertIn("unavailable (likwid knows no group", text)

    def test_the_environment_has_them_and_waits_for_no_likwid(self) -> None:
        said = counters.captured()
        self.assertEqual(list(said), ["software", "hardware"])
        for text in said.values():
            self.assertTrue(text == "yes" or text.startswith("unavailable: "), text)
        self.assertIn("counters", Path(environment.__file__).read_text())


class InRows(Fresh):
    def test_what_is_lacking_is_null_with_its_reason(self) -> None:
        program(self.tree, "good", _printing(json.dumps(LACKING)))
        self.matrix("program: good\nfactors: {workers: 1}\nblocks: 1\n")
        self.assertEqual(self.run_it("m").code, 0)
        row = self.rows()[0]
        self.assertEqual(row["counters"], LACKING["counters"])
        self.assertEqual(row["unavailable"], {"hw_cycles": "no such event"})

    def test_tidy_and_report(self) -> None:
        rows = synthetic.run([1], lambda s, w: 1e6, blocks=1)
        for row in rows:
            row.update(counters=LACKING["counters"], unavailable=LACKING["unavailable"])
        folder = synthetic.write(self.results / "synthetic", rows)
        frame = tidy.load(folder)
        self.assertEqual(set(frame.loc[frame["metric"].eq("counter_sw_page_faults"), "value"]), {64})
        self.assertFalse(frame["metric"].eq("counter_hw_cycles").any())
        self.assertEqual(report.unavailable(rows), [("packet", "hw_cycles", "no such event")])
        page = report.make(folder, "x", []).read_text()
        self.assertIn("counters that cannot be had here", page)
        self.assertIn("no such event", page)

    def test_programs_are_told_about_likwid_once(self) -> None:
        self.likwid_says("echo 'No groups defined for nil'")
        program(self.tree, "good", "echo \"${TENTER_LIKWID-nothing}\" >>\"$(dirname \"$0\")/told\"\n"
                + _printing(json.dumps(GOOD)))
        text = (self.tree / "bin/good").read_text()
        (self.tree / "bin/good").write_text(text.replace(
            '{"name": "pin"', '{"name": "counters", "type": "choice", "range": "none|likwid"}, '
            '{"name": "pin"'))
        self.matrix("program: good\nfactors: {counters: [none, likwid]}\nblocks: 2\n")
        self.assertEqual(self.run_it("m").code, 0)
        told = sorted((self.tree / "bin/told").read_text().splitlines())
        self.assertEqual(told[2:], ["nothing", "nothing"])
        self.assertTrue(all(t.startswith("likwid knows no group") for t in told[:2]), told)
        self.assertEqual(self.calls(), ["-a"])


if __name__ == "__main__":
    unittest.main()
