# SPDX-License-Identifier: MIT
"""Claims and figures of the servers' rows on synthetic tables that must give each verdict."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plots"), str(Path(__file__).resolve().parent)]

from experiments.runner import claims  # noqa: E402
from experiments.runner.claims import FAILS, HOLDS, OPEN  # noqa: E402
from test_claims_rows import Case, Metrics, Point, table  # noqa: E402

RAISES, GROWS = claims.module("B4.2").CLAIMS
ALIKE, BEHIND, STAY = claims.module("H2").CLAIMS
FLAT, MEAN, LATE, OVERTAKE = claims.module("H1").CLAIMS
ABOUT, GAP, GO, MEMORY = claims.module("B4.7").CLAIMS
SIXTY, = claims.module("B4.3").CLAIMS


def web(rate: float, timeouts: float = 0.0, mean: float = 1e6) -> Metrics:
    return {"throughput": ("1/s", rate), "cpu": ("ns", 1e9 / rate), "timeouts": ("1", timeouts), "latency_mean": ("ns", mean),
            "latency_p99": ("ns", 3 * mean)}


class Yielding(Case):
    row = "B4.2"

    def rows(self, few: float, many: float, cores: tuple[int, ...] = (1, 16)) -> list[tuple[Point, Metrics]]:
        gain = {1: few, 16: many}
        return [({"program": "loadgen", "TENTER_POLLER": poller, "depth": depth, "workers": n, "connections": 4096},
                 web(5e4 * n * (gain[n] if poller.endswith("on") else 1)))
                for poller in ("fibre:yield=off", "fibre:yield=on") for depth in (1, 4) for n in cores]

    def test_verdicts(self) -> None:
        for few, many, raises, grows in ((1.2, 1.5, HOLDS, HOLDS), (0.8, 0.7, FAILS, FAILS), (1.3, 1.1, HOLDS, FAILS)):
            frame = table(self.folder, self.rows(few, many), cores=16)
            self.verdict(frame, RAISES, raises)
            self.verdict(frame, GROWS, grows)

    def test_few_cores(self) -> None:
        frame = table(self.folder, self.rows(1.2, 1.2, (1,)))
        self.verdict(frame, RAISES, HOLDS)
        self.verdict(frame, GROWS, OPEN, "workers 8 to 64")

    def test_figure(self) -> None:
        table(self.folder, self.rows(1.2, 1.5), cores=16)
        self.assertEqual(len(self.figure("web_b4_2", 2)), 16)


class Short(Case):
    row = "B4.3"

    def rows(self, gain: float) -> list[tuple[Point, Metrics]]:
        """What is registered lazily, over what is at once."""
        none: list[tuple[Point, Metrics]] = [
            ({"program": "loadgen", "server": server, "workers": 1, "poller": None, "TENTER_POLLER": None}, web(1e4))
            for server in ("httpd-event", "httpd-pthread")]
        return none + [({"program": "loadgen", "server": "httpd", "workers": 1, "poller": poller, "TENTER_POLLER": f"{poller}:lazy={lazy}"},
                        web(1e4 * (gain if lazy == "on" else 1))) for poller in ("fibre", "thread", "worker") for lazy in ("on", "off")]

    def test_verdicts(self) -> None:
        for gain, wanted in ((1.6, HOLDS), (1.1, FAILS), (3.0, FAILS), (2.0, OPEN)):
            self.verdict(table(self.folder, self.rows(gain)), SIXTY, wanted)
        self.verdict(table(self.folder, self.rows(1.6)[:5]), SIXTY, OPEN, "no point at")

    def test_figure(self) -> None:
        table(self.folder, self.rows(1.6))
        self.assertEqual(len(self.figure("web_b4_3", 2)), 16)


class Cores(Case):
    row = "H2"

    def rows(self, fibres: float, threads: float, timeouts: float, mean: float, cores: tuple[int, ...] = (1, 2, 4)) \
            -> list[tuple[Point, Metrics]]:
        """The part of what loops do, with four cores and with one; and of threads the time-outs, and their mean with four."""
        of = {"httpd": lambda n: fibres if n == 4 else 1.0, "httpd-pthread": lambda n: threads, "httpd-event --copies": lambda n: 1.0}
        return [({"program": "loadgen", "server": server, "workers": n, "connections": 1000},
                 web(5e4 * n * part(n), timeouts if "pthread" in server else 0, mean if n == 4 else 1e6))
                for server, part in of.items() for n in cores]

    def test_verdicts(self) -> None:
        for values, wanted in (((0.8, 0.95, 30, 5e5), (HOLDS, HOLDS, HOLDS)), ((1.0, 0.5, 0, 2e6), (FAILS, FAILS, FAILS))):
            frame = table(self.folder, self.rows(*values), cores=4)
            for claim, verdict in zip((ALIKE, BEHIND, STAY), wanted):
                self.verdict(frame, claim, verdict)

    def test_two_cores(self) -> None:
        frame = table(self.folder, self.rows(1, 1, 0, 1, (1, 2)))
        self.verdict(frame, ALIKE, HOLDS)
        for claim in (BEHIND, STAY):
            self.verdict(frame, claim, OPEN, "workers 4")

    def test_figure(self) -> None:
        table(self.folder, self.rows(0.8, 0.9, 3, 5e5), cores=4)
        self.assertEqual(len(self.figure("web_h2", 3)), 27)


class Connections(Case):
    row = "B4.7"

    def rows(self, loops: float, threads: tuple[float, float], go: float, memory: float, cores: tuple[int, ...] = (1, 16)) \
            -> list[tuple[Point, Metrics]]:
        """Throughput over that of fibres, of threads with one core and with 16; memory of fibres over that of loops."""
        of = {"httpd": (1.0, 1.0, memory), "httpd-event --copies": (loops, loops, 1.0),
              "httpd-pthread": (*threads, 2.0), "httpd-go": (go, go, 4.0)}
        return [({"program": "loadgen", "server": server, "workers": n, "connections": c},
                 {**web(5e4 * n * (one if n == 1 else many)), "memory": ("B", 8192 * kept)})
                for server, (one, many, kept) in of.items() for n in cores for c in (100, 16000)]

    def test_verdicts(self) -> None:
        for values, wanted in (((1.0, (0.8, 0.6), 0.5, 1.5), (HOLDS, HOLDS, HOLDS, HOLDS)),
                               ((1.5, (1.1, 1.3), 1.2, 4.0), (FAILS, FAILS, FAILS, FAILS)),
                               ((1.0, (0.8, 0.9), 0.9, 0.7), (HOLDS, FAILS, FAILS, FAILS))):
            frame = table(self.folder, self.rows(*values), cores=16)
            for claim, verdict in zip((ABOUT, GAP, GO, MEMORY), wanted):
                self.verdict(frame, claim, verdict)

    def test_few_cores(self) -> None:
        self.verdict(table(self.folder, self.rows(1, (0.5, 0.5), 0.4, 1.5, (1,))), GAP, OPEN, "workers 8 to 64")

    def test_figure(self) -> None:
        table(self.folder, self.rows(1, (0.8, 0.6), 0.5, 1.5), cores=16)
        self.assertEqual(len(self.figure("web_b4_7", 3)), 48)


class Quota(Case):
    row = "H1"

    def rows(self, rate: float, loops: float, mean: float, late: float, clients: tuple[int, ...] = (1000, 4000, 16000)) \
            -> list[tuple[Point, Metrics]]:
        """With the most clients: throughput over that with fewer; that of loops over fibres. Of threads: mean in s, time-outs."""
        out: list[tuple[Point, Metrics]] = []
        for server in ("httpd", "httpd-event --copies", "httpd-pthread"):
            for c in clients:
                mine = 3000 * (rate if c == 16000 else 1) * (loops if "event" in server else 1)
                threads = server.endswith("pthread")
                out.append(({"program": "loadgen", "server": server, "workers": 1, "connections": c},
                            {**web(mine, 0, (mean if threads else c / 3000) * 1e9),
                             "timeout_share": ("1", late if threads else 0.0)}))
        return out

    def test_verdicts(self) -> None:
        for values, wanted in (((0.95, 1.1, 26, 0.08), (HOLDS, HOLDS, HOLDS, HOLDS)),
                               ((0.5, 0.9, 6, 0.5), (FAILS, FAILS, FAILS, FAILS)),
                               ((1.0, 1.1, 26, 0.01), (HOLDS, HOLDS, FAILS, HOLDS))):
            frame = table(self.folder, self.rows(*values))
            for claim, verdict in zip((FLAT, MEAN, LATE, OVERTAKE), wanted):
                self.verdict(frame, claim, verdict)

    def test_few_clients(self) -> None:
        frame = table(self.folder, self.rows(1, 1, 1, 0.08, (1000, 4000)))
        for claim in (FLAT, MEAN, OVERTAKE):
            self.verdict(frame, claim, OPEN, "connections 16000")

    def test_figure(self) -> None:
        table(self.folder, self.rows(1, 1.1, 26, 0.08))
        self.assertEqual(len(self.figure("web_h1", 3)), 27)


if __name__ == "__main__":
    unittest.main()
