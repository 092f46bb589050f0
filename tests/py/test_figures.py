# SPDX-License-Identifier: MIT
"""Each figure script draws PDF, PNG and table from synthetic data, or says in a line why not."""
from __future__ import annotations

import contextlib
import importlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plots"), str(Path(__file__).resolve().parent)]

import synthetic  # noqa: E402
from experiments.runner import figures, stats, tidy  # noqa: E402

PACKET = [n for n in figures.known() if n.startswith("packet_")]


def script(name: str) -> ModuleType:
    return importlib.import_module(name)


def packet_rows(**settings: Any) -> list[dict[str, Any]]:
    given: dict[str, Any] = {"workers": [1, 2, 4], "throughput": lambda s, w: 1e6 * w, "blocks": 4,
                             "schedulers": ("fifo", "lifo", "pthread"), **settings}
    return synthetic.run(**given)


class Drawing(unittest.TestCase):
    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        cls.addClassCleanup(setattr, stats, "RESAMPLES", stats.RESAMPLES)
        stats.RESAMPLES = 499                       # enough to draw by

    def make(self, name: str, rows: list[dict[str, Any]]) -> Path:
        folder = synthetic.write(self.folder / name, rows)
        tidy.export(folder)
        return folder

    def run_script(self, name: str, folder: Path) -> tuple[int, str]:
        """In this process: importing matplotlib anew for each would take most of the time."""
        said = io.StringIO()
        style = script("style")
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = style.script(name, script(name).draw, [name, str(folder / "tidy.csv")])
        return code, said.getvalue()

    def check(self, name: str, folder: Path) -> pd.DataFrame:
        code, said = self.run_script(name, folder)
        self.assertEqual((code, said), (0, ""))
        out = folder / "figures"
        self.assertEqual((out / f"{name}.pdf").read_bytes()[:5], b"%PDF-")
        self.assertEqual((out / f"{name}.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        table = pd.read_csv(out / f"{name}.table.csv")
        for column in ("series", "x", "median", "low", "high", "n", "note"):
            self.assertIn(column, table.columns)
        self.assertTrue((table["low"] <= table["median"]).all())
        self.assertTrue((table["median"] <= table["high"]).all())
        return table

    def plane_rows(self, specs: tuple[str, ...]) -> list[dict[str, Any]]:
        """Closed and open rows of two workloads: the more throughput, the longer the tail."""
        rows = []
        for rate, connections in ((None, 0), (1000.0, 0), (None, 64), (1000.0, 64)):
            for block in range(6):
                for number, spec in enumerate(specs):
                    name = spec.split(":", maxsplit=1)[0]
                    made = synthetic.row(name, 2, block, len(rows), throughput=(number + 1) * 1e5 if rate is None else 1000.0,
                                         latency=(number + 1) * 1e4 if rate else 1.0, cell=f"{spec} {rate} {connections}")
                    made["params"] |= {"scheduler": spec, "rate": rate, "connections": connections}
                    made["binary"]["knobs"] = dict(k.split("=") for k in spec.split(":")[1:])
                    rows.append(made)
        return rows

    def test_plane(self) -> None:
        """A panel a workload, a mark a variant; throughput is the closed loop's, the tail the open one's."""
        specs = ("fifo", "fifo:slot=1", "fifo:slot=2", "lifo", "multiq", "pushing", "yields")
        folder = self.make("plane", self.plane_rows(specs))
        table = self.check("plane", folder)
        self.assertEqual(set(table["panel"]), {"packet", "packet, working sets"})
        self.assertEqual(len(table), 2 * len(specs))
        self.assertTrue((table["x_low"] <= table["x"]).all() and (table["x"] <= table["x_high"]).all())
        self.assertGreater(table["x"].min(), 5e4)           # of the closed loop: in the open one it is 1000
        self.assertGreater(table["median"].min(), 1e4)      # of the open one: in the closed one it is 1
        self.assertTrue(table["metric"].eq("latency p99").all())
        marks = [tuple(str(v) for v in script("plane").mark(n, list(table["series"].unique())).values())
                 for n in table["series"].unique()]
        self.assertEqual(len(set(marks)), len(specs))

    def test_plane_of_what_has_no_tail(self) -> None:
        """Its marks lie one below the other, and the table has them all the same."""
        rows = self.plane_rows(("fifo", "lifo"))
        for row in [r for r in rows if r["params"]["rate"] is None and not r["params"]["connections"]]:
            rows.append({**row, "program": "migrate", "hist": {}, "cell": f"migrate {row['cell']}",
                         "order": len(rows)})
        table = self.check("plane", self.make("plane", rows))
        mine = table[table["panel"].eq("migrate")]
        self.assertEqual(list(mine["metric"]), ["throughput"] * 2)
        self.assertTrue((mine["median"] == mine["x"]).all())
        self.assertEqual(set(table["metric"]), {"throughput", "latency p99"})

    def test_plane_tells_workloads_apart(self) -> None:
        """Each table of wavefront, and one cluster and two of mixed, have a panel of their own."""
        rows = self.plane_rows(("fifo", "lifo"))
        for program, factor, at in (("wavefront", "problem", "put"), ("wavefront", "problem", "align"), ("mixed", "urgent", 0),
                                    ("mixed", "urgent", 1)):
            for row in [r for r in rows if r["program"] == "packet" and r["params"]["rate"] and not r["params"]["connections"]]:
                rows.append({**row, "program": program, "params": {**row["params"], factor: at}, "order": len(rows),
                             "cell": f"{program} {at} {row['cell']}"})
        table = self.check("plane", self.make("plane", rows))
        self.assertEqual(set(table["panel"]), {"packet", "packet, working sets", "wavefront, put", "wavefront, align", "mixed",
                                               "mixed, two clusters"})
        self.assertEqual(set(table["series"]), {"fifo", "lifo"})

    def test_plane_without_rows(self) -> None:
        code, said = self.run_script("plane", self.make("none", packet_rows(hist=False)))
        self.assertEqual(code, script("style").NO_DATA)
        self.assertEqual(said.count("\n"), 1)

    def test_all_packet_figures(self) -> None:
        folder = self.make("all", packet_rows())
        for name in PACKET:
            with self.subTest(name):
                table = self.check(name, folder)
                self.assertEqual(set(table["series"]), {"fifo", "lifo", "pthread"})
                self.assertGreaterEqual(table["x"].nunique(), 3)

    def test_oversubscribed_is_said(self) -> None:
        table = self.check("packet_throughput", self.make("over", packet_rows()))
        self.assertEqual(set(table.loc[table["oversubscribed"], "x"]), {4})
        self.assertIn("more workers than cores (2)", table["note"][0])

    def test_fewer_than_three_values_say_why(self) -> None:
        folder = self.make("two", packet_rows(workers=[1, 2]))
        for name in ("packet_throughput", "packet_latency"):
            note = self.check(name, folder)["note"][0]
            self.assertIn("Fewer than three x-values (workers 1, 2): this machine has 2 cores",
                          note)

    def test_fewer_than_three_invocations_have_no_interval(self) -> None:
        folder = self.make("short", packet_rows(blocks=2))
        for name in PACKET:
            with self.subTest(name):
                self.assertEqual(self.run_script(name, folder)[0], 0)
                table = pd.read_csv(folder / "figures" / f"{name}.table.csv")
                self.assertTrue(table["low"].isna().all())
                self.assertIn("fewer than three", table["note"][0])

    def test_fewer_than_six_invocations_are_flagged_once_a_figure(self) -> None:
        for blocks in (4, 6):
            folder = self.make(f"blocks{blocks}", packet_rows(blocks=blocks))
            micro = self.make(f"micro{blocks}", synthetic.micro(blocks))
            for name, where in [*((n, folder) for n in PACKET), ("micro_ratio", micro)]:
                with self.subTest(f"{name} {blocks}"):
                    table = self.check(name, where)
                    few = blocks < stats.FEW
                    self.assertEqual(table["note"][0].count(stats.FEW_FLAG), int(few))
                    flagged = table["flag"].fillna("").str.contains(stats.FEW_FLAG, regex=False)
                    self.assertEqual((flagged.all(), flagged.any()), (few, few))
                    self.assertTrue(table["low"].notna().any())

    def test_figures_drawn_before_are_kept_until_the_table_is_newer(self) -> None:
        folder = self.make("keep", packet_rows(blocks=1))
        table = folder / "tidy.csv"
        self.assertFalse(figures.is_drawn("packet_time", table))
        self.assertEqual(self.run_script("packet_time", folder)[0], 0)
        with mock.patch.object(figures, "draw", side_effect=AssertionError):
            (drawn,) = figures.draw_all(["time"], ["packet"], table, keep=True)
        self.assertEqual((drawn.name, drawn.pdf), ("packet_time", "figures/packet_time.pdf"))
        later = table.stat().st_mtime + 60
        os.utime(table, (later, later))
        self.assertFalse(figures.is_drawn("packet_time", table))

    def test_too_few_samples_give_no_tail(self) -> None:
        folder = self.make("small", packet_rows(n=6000))
        table = self.check("packet_latency", folder)
        self.assertEqual(set(table["panel"]), {"p50", "p99"})

    def test_percentiles_are_pooled_over_invocations_and_say_so(self) -> None:
        # 4 invocations of 30 000 samples: none has enough for p99.99, together they have
        table = self.check("packet_latency", self.make("pool", packet_rows(n=30_000)))
        self.assertEqual(set(table["panel"]), {"p50", "p99", "p99.99"})
        self.assertIn("Pooled over the repetitions and the 4 invocations", table["note"][0])

    def test_failed_and_warm_up_samples_are_not_drawn(self) -> None:
        rows = packet_rows()
        for row in rows:
            if row["params"]["workers"] == 4:
                row.update(status="invalid", message="wrong count")
        table = self.check("packet_throughput", self.make("bad", rows))
        self.assertEqual(set(table["x"]), {1, 2})
        one = table[table["series"].eq("fifo") & table["x"].eq(1)]["median"].iloc[0]
        self.assertAlmostEqual(one, 1e6, delta=1e5)

    def test_other_factors_tell_series_apart(self) -> None:
        rows: list[dict[str, Any]] = []
        for packets in (100, 200):
            for row in packet_rows(schedulers=("fifo",)):
                row["params"]["packets"] = packets
                row["cell"] += f"-{packets}"
                rows.append(row)
        table = self.check("packet_throughput", self.make("factors", rows))
        self.assertEqual(set(table["series"]), {"fifo, packets 100", "fifo, packets 200"})

    def test_micro(self) -> None:
        table = self.check("micro_ratio", self.make("micro", synthetic.micro()))
        self.assertEqual(table["x"].nunique(), len(synthetic.MICRO))
        ours = table[table["series"].eq("fifo") & table["x"].eq("spawn_join")].iloc[0]
        self.assertAlmostEqual(ours["ratio_to_pthread"], 38.0 / 36_000.0, delta=1e-4)
        self.assertTrue(ours["ratio_low"] <= ours["ratio_to_pthread"] <= ours["ratio_high"])

    def test_no_data_is_a_clear_line(self) -> None:
        none = self.make("none", [])
        failed = self.make("failed", [synthetic.row("fifo", 1, 0, 0, throughput=1.0,
                                                    status="failed")])
        other = self.make("other", synthetic.micro(1))
        bare = self.make("bare", packet_rows(hist=False, blocks=1))
        for name in figures.known():
            family = name.split("_")[0]
            folders = [none, failed] + ([other] if family == "packet" else [bare])
            folders += [bare] if "latency" in name else []
            for folder in folders:
                with self.subTest(f"{name} {folder.name}"):
                    code, said = self.run_script(name, folder)
                    self.assertEqual(code, 3)
                    self.assertRegex(said, rf"^{name}: no data: [^\n]+\n$")

    def test_command_line(self) -> None:
        folder = self.make("command", packet_rows(blocks=1))

        def start(*words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run([sys.executable, str(ROOT / "plots/packet_throughput.py"),
                                   *words], capture_output=True, text=True, check=False)
        done = start(str(folder / "tidy.csv"))
        self.assertEqual((done.returncode, done.stdout.strip()),
                         (0, str(folder / "figures/packet_throughput.png")), done.stderr)
        self.assertEqual(start().returncode, 2)
        (folder / "broken").mkdir()
        (folder / "broken/tidy.csv").write_text("", encoding="utf-8")
        done = start(str(folder / "broken/tidy.csv"))
        self.assertEqual(done.returncode, 2)
        self.assertNotIn("Traceback", done.stderr)


class Style(unittest.TestCase):
    def test_schedulers_differ_in_colour_and_marker(self) -> None:
        style = script("style")
        self.assertEqual(len(set(style.COLOURS.values())), len(style.COLOURS))
        self.assertEqual(len(set(style.MARKERS.values())), len(style.MARKERS))
        self.assertEqual(set(style.COLOURS), set(style.MARKERS))
        self.assertEqual(style.colour("fifo:layout=global, spawners 4"), style.colour("fifo"))

    def test_queues_differ_in_colour_and_marker(self) -> None:
        style, names = script("style"), script("queues_m5_1").ORDER
        matrix = yaml.safe_load((ROOT / "experiments/matrices/queues.yaml").read_text(encoding="utf-8"))
        sets = [matrix["factors"], *(i["factors"] for i in matrix["include"])]
        self.assertEqual(set(names), {n for f in sets if f.get("producers") == [0] for n in f["structure"]})
        self.assertEqual(len({(style.colour(n), style.marker(n)) for n in names}), len(names))

    def test_servers_can_be_told_apart(self) -> None:
        """No two curves of a figure have the same colour and marker, nor of one family the same dashes."""
        style, curves, caches = script("style"), script("curves"), script("experiments.models.caches")
        servers = list(script("web_h2").NAMES.values())
        lazily = [f"{poller}, {when}" for poller in ("fibre", "thread", "worker") for when in script("web_b4_3").WHEN.values()]
        for labels in (servers, [*lazily, "loops", "pthreads"], list(script("preemption_web_h7").NAMES.values()), caches.ALL,
                       list(script("web_b4_2").NAMES.values()), [f"{n}, {c} cores" for n in ("fibres", "loops, N-copy", "pthreads", "Go")
                                                                 for c in (1, 2, 3, 4)],
                       [caches.PLAIN, caches.PINNED, caches.LOCKED, caches.NO_STEALING, caches.BATON]):
            looks = {(style.colour(n), style.marker(n), curves.dash(n, labels)) for n in labels}
            self.assertEqual(len(looks), len(labels), labels)

    def test_labels_on_one_axis_stand_clear(self) -> None:
        style = script("style")
        ticks = style._apart([7e5, 1e6, 1.5e6, 2e6, 3e6], (4.5e6 / 6e5) ** 0.17)
        self.assertEqual(ticks, [7e5, 1e6, 1.5e6, 3e6])

    def test_ticks_are_readable(self) -> None:
        style = script("style")
        for low, high in ((1.0, 1.4), (3e5, 1.6e6), (20.0, 9e6), (1.01, 1.03)):
            self.assertTrue(2 <= len(style.log_ticks(low, high)) <= 7, (low, high))

    def test_units(self) -> None:
        style = script("style")
        self.assertEqual([style.nanoseconds(v) for v in (1, 1500, 2e6, 3e9)],
                         ["1 ns", "1.5 µs", "2 ms", "3 s"])
        self.assertEqual([style.count(v) for v in (0, 7, 1.5e6)], ["0", "7", "1.5 M"])


if __name__ == "__main__":
    unittest.main()
