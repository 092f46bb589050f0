# SPDX-License-Identifier: MIT
"""report.html: self-contained; each figure has intervals, a table, three x-values or says why."""
from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

import synthetic  # noqa: E402
from experiments.runner import figures, report, reproduce, stats, tidy  # noqa: E402
from experiments.runner.errors import Stop  # noqa: E402

VOID = {"meta", "img", "br", "hr", "link", "input"}
MATRIX = """name: synthetic
title: A <title> & more
figures: [throughput, packet_latency, micro, no_such_figure]
"""


class Page(HTMLParser):
    """Collects figures, tables in them, sources and links; complains of tags that do not close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.figures: dict[str, dict[str, str]] = {}
        self.tables: dict[str, int] = {}
        self.sources: list[str] = []
        self.links: list[str] = []
        self.words: dict[str, str] = {}
        self.alts: dict[str, str] = {}
        self.missing: list[str] = []
        self.tags: set[str] = set()
        self.now: str | None = None
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {k: v or "" for k, v in attrs}
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "figure":
            self.now = given["data-figure"]
            self.figures[self.now], self.tables[self.now], self.words[self.now] = given, 0, ""
        if tag == "tr" and self.now is not None:
            self.tables[self.now] += 1
        if tag == "img" and self.now is not None:
            self.alts[self.now] = given["alt"]
        if "src" in given:
            self.sources.append(given["src"])
        if "href" in given:
            self.links.append(given["href"])
        if "data-missing" in given:
            self.missing.append(given["data-missing"])

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()
        if tag == "figure":
            self.now = None

    def handle_data(self, data: str) -> None:
        if self.now is not None:
            self.words[self.now] += data


class Report(unittest.TestCase):
    folder: Path
    text: str
    page: Page

    @classmethod
    def setUpClass(cls) -> None:
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name) / "run"
        rows = synthetic.run([1, 2], lambda s, w: 1e6 * w * (1.5 if s == "lifo" else 1.0),
                             schedulers=("fifo", "lifo", "pthread"), blocks=6)
        for order, (status, message) in enumerate((("failed", "signal 11 <core>"),
                                                   ("timeout", "no answer in 60 s"),
                                                   ("invalid", "3 packets missing"))):
            rows.append(synthetic.row("fifo", 8, order, 90 + order, throughput=1.0, status=status,
                                      message=message, cell=f"bad{order}"))
        rows.append(synthetic.row("lifo", 1, 4, 99, throughput=1e6))      # run again
        rows[0]["steal_pct"] = 7.5
        synthetic.write(cls.folder, rows, matrix=MATRIX)
        path = report.make(cls.folder, "./tenter run synthetic --seed 7")
        cls.text = path.read_text(encoding="utf-8")
        cls.page = Page(cls.text)

    def test_figures_have_intervals_table_and_values(self) -> None:
        self.assertEqual(set(self.page.figures), {"packet_throughput", "packet_latency"})
        for name, given in self.page.figures.items():
            with self.subTest(name):
                self.assertEqual(given["data-intervals"], "yes")
                self.assertGreater(self.page.tables[name], 3)
                if int(given["data-x-values"]) < 3:
                    self.assertIn("Fewer than three x-values", self.page.words[name])
                for end in ("pdf", "png", "table.csv"):
                    self.assertTrue((self.folder / f"figures/{name}.{end}").exists())
                self.assertIn(f"figures/{name}.pdf", self.page.links)

    def test_every_condition_is_in_the_table(self) -> None:
        """75 rows in 15 curves of 5 points: none is thinned out, above all not one point of each."""
        rows = synthetic.run([1, 2, 4, 6, 8], lambda s, w: 1e6, blocks=3,
                             schedulers=("fifo", "lifo", "pthread"))
        with tempfile.TemporaryDirectory() as scratch:
            folder = synthetic.write(Path(scratch), rows)
            text = report.make(folder, "x", ["packet_m7_1"]).read_text(encoding="utf-8")
            drawn = figures.pd.read_csv(folder / "figures/packet_m7_1.table.csv")
        self.assertGreater(len(drawn), 60)
        self.assertEqual(Page(text).tables["packet_m7_1"], 1 + len(drawn))
        long = figures.Drawn("x", table=drawn.loc[drawn.index.repeat(10)])
        self.assertTrue(long.too_long and not long.opened)

    def test_notes_stand_in_the_image_and_its_alternative_text_only(self) -> None:
        for name in self.page.figures:
            note = figures.pd.read_csv(self.folder / f"figures/{name}.table.csv")["note"][0]
            self.assertIn(note, self.page.alts[name])
            self.assertNotIn(note[:40], self.page.words[name])
            self.assertIn("Fewer than three x-values (workers 1, 2): this machine has 2 cores, and "
                          "more workers than cores were not asked for. PDF, table as CSV.",
                          " ".join(self.page.words[name].split()))

    def test_missing_figures_say_so(self) -> None:
        self.assertEqual(self.page.missing, ["micro_ratio", "no_such_figure"])
        self.assertIn("no row of the program micro", self.text)
        self.assertIn("unknown figure", self.text)

    def test_self_contained(self) -> None:
        for source in self.page.sources:
            self.assertTrue(source.startswith("data:image/png;base64,"), source[:60])
        for link in self.page.links:
            self.assertFalse(link.startswith(("http:", "https:", "//", "/")), link)
        self.assertNotIn("script", self.page.tags)
        self.assertNotIn("link", self.page.tags)
        self.assertNotIn("url(", self.text)
        self.assertIn("prefers-color-scheme: dark", self.text)

    def test_statuses_and_failures(self) -> None:
        for words in ("36 ok", "1 failed", "1 timeout", "1 invalid", "no answer in 60 s",
                      "3 packets missing", "signal 11 &lt;core&gt;"):
            self.assertIn(words, self.text)
        self.assertIn("out/90.txt", self.page.links)

    def test_skipped_rows_of_an_optional_peer_are_one_line(self) -> None:
        rows = [{"program": p, "cell": c, "block": b, "status": "skipped", "message": "not here",
                 "optional": p == "peer", "params": {"workers": 1}}
                for p in ("peer", "ours") for c in "ab" for b in (0, 1)]
        said = report.failures(rows, [False] * len(rows))
        self.assertEqual([f["cell"] for f in said],
                         ["ours: workers 1"] * 4 + ["peer: 2 cells, 4 invocations"])

    def test_command_title_environment(self) -> None:
        for words in ("./tenter run synthetic --seed 7", "A &lt;title&gt; &amp; more",
                      "Test CPU 9000", "0123456789ab", "spawn to last end"):
            self.assertIn(words, self.text)

    def test_warnings(self) -> None:
        self.assertIn("up to 7.5 % of the processor time was stolen", self.text)
        self.assertIn("1 invocations were run again", self.text)

    def test_comparisons(self) -> None:
        self.assertIn("lifo / fifo", self.text)
        self.assertIn("fifo / pthread", self.text)
        self.assertIn("no difference shown (", self.text)

    def test_comparisons_of_few_blocks_claim_nothing_and_say_why(self) -> None:
        for blocks in (5, 6):
            rows = synthetic.run([1], lambda s, w: 1e6 * (1.5 if s == "lifo" else 1.0), noise=0.0,
                                 blocks=blocks, hist=False)
            with tempfile.TemporaryDirectory() as scratch:
                folder = synthetic.write(Path(scratch), rows)
                report.make(folder, "x", [])
                found = report.comparisons(tidy.load(folder), [])
                text = (folder / "report.html").read_text(encoding="utf-8")
            (speed,) = [c for c in found if c["metric"] == "throughput"]
            if blocks < stats.FEW:
                self.assertEqual((speed["shown"], speed["remark"]),
                                 ("no", f"degenerate, {stats.FEW_FLAG}"))
                self.assertEqual(speed["text"], "too few blocks to say (1.50 [1.50, 1.50])")
                self.assertIn("<td>degenerate, n&lt;6: covers less than 95 %</td>", text)
            else:
                self.assertEqual((speed["shown"], speed["remark"]), ("yes", "degenerate"))
                self.assertIn("<td>degenerate</td>", text)

    def test_plot_draws_what_is_named(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = report.plot_main([str(self.folder), "retries"])
        self.assertEqual((code, said.getvalue().strip()),
                         (0, str(self.folder / "figures/packet_retries.png")))
        with self.assertRaisesRegex(Stop, "unknown figure 'throughputs' .nearest: packet_through"):
            report.plot_main([str(self.folder), "throughputs"])
        with self.assertRaisesRegex(Stop, "holds no rows.jsonl"):
            report.plot_main(["/nonexistent/"])

    def test_reproduce_judges_a_folder(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = reproduce.main(["M7.1", "--from", str(self.folder), "--json"])
        self.assertEqual(code, 0)
        data = json.loads(said.getvalue())
        self.assertEqual(len(data["verdicts"]), 10)
        self.assertEqual(data, json.loads((self.folder / "verdicts.json").read_text("utf-8")))

    def test_strict_and_the_claims_of_a_reproduction(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            folder = synthetic.write(
                Path(scratch), synthetic.run([5, 10], lambda s, w: 1e6 * (
                    1.5 if s == "lifo" else 1.0), blocks=6, n=30_000),
                {**synthetic.ENV, "cpus_allowed": 16},
                "name: synthetic\nquick: {options: {packets: 5000}}\n")
            lines = io.StringIO()
            with contextlib.redirect_stdout(lines), \
                    mock.patch.object(figures, "draw_all", lambda *_: []):
                code = reproduce.main(["M7.1", "--from", str(folder), "--strict"])
                plain = report.make(folder, "x", []).read_text(encoding="utf-8")
                (folder / "run.json").write_text(json.dumps(
                    {"reproduces": "M7.1", "quick": True}), encoding="utf-8")
                text = report.make(folder, "./tenter reproduce M7.1 --quick", []).read_text("utf-8")
            (folder / "provenance.json").unlink()
            pooled = stats.pooled(tidy.load_hist(folder)[lambda h: h["invocation"].lt(6)], 99.99)
        self.assertEqual(code, 1)                           # lifo is 1.5 times as fast here
        self.assertIn("does not hold: fifo ≈ lifo throughout", lines.getvalue())
        self.assertNotIn('id="claims"', plain)
        self.assertLess(text.index('id="claims"'), text.index('id="figures"'))
        Page(text)
        for words in ("fifo ≈ lifo throughout", "does not hold", "1.5",
                      "./tenter reproduce M7.1 --quick</pre>", "Quick: 5000 packets"):
            self.assertIn(words, text)
        self.assertNotIn("Quick: ", plain)
        self.assertEqual(pooled.n, 6)
        # 6 × 30 000 samples: none has enough for p99.99, the table pools them as the figures do
        header = next(x for x in lines.getvalue().splitlines() if x.startswith("workers  "))
        self.assertIn("p99.99", header)


class Empty(unittest.TestCase):
    def test_a_run_of_failures_still_has_a_report(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            folder = synthetic.write(Path(scratch), [
                synthetic.row("fifo", 1, 0, 0, throughput=1.0, status="failed", message="crash")],
                matrix="name: synthetic\nfigures: [packet_throughput]\n")
            (folder / "env.jsonl").unlink()
            text = report.make(folder, "x").read_text(encoding="utf-8")
        page = Page(text)
        self.assertEqual(page.figures, {})
        self.assertEqual(page.missing, ["packet_throughput"])
        self.assertEqual(figures.defaults(["packet", "packet-pthread"]),
                         [n for n in figures.known() if n.startswith("packet_")])
        self.assertIn("Not recorded", text)


if __name__ == "__main__":
    unittest.main()
