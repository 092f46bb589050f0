# SPDX-License-Identifier: MIT
"""The columns of tidy.csv and hist.csv that are not factors; docs/results.md describes them."""
from __future__ import annotations

HEAD = ["cell", "block", "order", "invocation", "rep", "warmup", "status", "superseded"]
TAIL = ["program", "series", "scheduler_said", "runtime", "differs", "binary_id", "cores",
        "oversubscribed", "metric", "unit", "value"]
HIST = ["invocation", "metric", "unit", "low", "high", "count"]
