# SPDX-License-Identifier: MIT
"""What simulated threads do, as a program's counters tell it."""
from __future__ import annotations

import json
import unittest
from typing import Any

from test_sim import tenter


def record(*argv: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    done = tenter("--json", "-", *argv, env=env)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class Counters(unittest.TestCase):
    def test_each_case(self) -> None:
        """micro says of each case what the runtime did in its repetitions, of those that count."""
        said = record("--cores", "2", "micro", "--case", "yield_2,spawn_join", "--ms", "0.2", "--reps", "3", "--warmup", "1")
        counted = said["counters"]
        self.assertEqual(counted["yield_2_yield"], 3 * counted["yield_2_ops"])
        self.assertEqual(counted["spawn_join_spawn"], 3 * counted["spawn_join_ops"])
        self.assertNotIn("yield_2_refused", counted)            # what did not happen is not listed


if __name__ == "__main__":
    unittest.main()
