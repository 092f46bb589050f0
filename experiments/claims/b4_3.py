# SPDX-License-Identifier: MIT
"""Row B4.3, figure 4.3 of B: the web server with one request a connection, by lazy registration.

The thresholds were written down before anything was measured. The source does not say which poller; its default is a thread's.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, statements

THRESHOLDS: dict[str, Any] = {
    "workers": [1, 64],
    # 1.6, within a factor of 1.25
    "gain": [1.28, 2.0],
}
APART = ("server", "scheduler", "workers", "poller", "TENTER_POLLER")
LAZY, EAGER = ({"server": "httpd", "TENTER_POLLER": f"thread:lazy={lazy}", "workers": THRESHOLDS["workers"]} for lazy in ("on", "off"))

CLAIMS: dict[str, Predicate] = {
    "≈ +60 %": statements("loadgen", APART, {}, [
        Over("throughput", LAZY, EAGER, bound, limit) for bound, limit in zip(("above", "below"), THRESHOLDS["gain"])]),
}
