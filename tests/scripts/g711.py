#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""G.711 in both laws: each sample and each code, against the decision values of the recommendation and Python's audioop.

    g711.py PROBE
"""
from __future__ import annotations

import subprocess
import sys
import warnings
from bisect import bisect_right
from dataclasses import dataclass
from typing import Callable


def decision_values(widths: list[int], first: int) -> list[int]:
    """Tables 1a and 2a: where the intervals of a positive sample begin, sixteen to a segment; the very first has a width
    of its own. At the end, where the last one ends."""
    out = [0, first]
    for segment, width in enumerate(widths):
        out += [out[-1] + width * n for n in range(1, 17 if segment else 16)]
    return out


@dataclass
class Law:
    name: str
    starts: list[int]
    magnitude: Callable[[int], int]  # of a sample, in the law's own bits
    sent: Callable[[int, bool], int]  # the code of an interval, and whether it is of a negative sample
    unit: int  # of 16 bits
    zero: bool  # the first interval has zero in its middle


LAWS = [Law("ulaw", decision_values([2 << n for n in range(8)], 1), lambda s: abs(s >> 2),
            lambda interval, negative: (interval | (128 if negative else 0)) ^ 0xff, 4, True),
        Law("alaw", decision_values([2, *(2 << n for n in range(7))], 2), lambda s: (~s if s < 0 else s) >> 3,
            lambda interval, negative: (interval | (0 if negative else 128)) ^ 0x55, 8, False)]


def encode(law: Law, sample: int) -> int:
    interval = min(bisect_right(law.starts, law.magnitude(sample)) - 1, 127)
    return law.sent(interval, sample < 0)


def decoded(law: Law) -> dict[int, int]:
    out = {}
    for interval in range(128):
        middle = 0 if law.zero and interval == 0 else law.unit * (law.starts[interval] + law.starts[interval + 1]) // 2
        out |= {law.sent(interval, negative): -middle if negative else middle for negative in (False, True)}
    return out


def check(law: Law, codes: list[int], samples: list[int]) -> list[str]:
    said, wanted = law.name, decoded(law)
    faults = [f"{said}, sample {s}: {got}, not {encode(law, s)}" for s, got in zip(range(-32768, 32768), codes)
              if got != encode(law, s)]
    faults += [f"{said}, code {c}: {got}, not {wanted[c]}" for c, got in enumerate(samples) if got != wanted[c]]
    try:
        warnings.simplefilter("ignore", DeprecationWarning)
        import audioop  # pylint: disable=import-outside-toplevel,deprecated-module
    except ImportError:  # Python 3.13 has none
        print("audioop: not there")
        return faults
    pcm = b"".join(s.to_bytes(2, sys.byteorder, signed=True) for s in range(-32768, 32768))
    if getattr(audioop, f"lin2{said}")(pcm, 2) != bytes(codes):
        faults.append(f"audioop encodes otherwise than {said}")
    heard = b"".join(s.to_bytes(2, sys.byteorder, signed=True) for s in samples)
    if getattr(audioop, f"{said}2lin")(bytes(range(256)), 2) != heard:
        faults.append(f"audioop decodes otherwise than {said}")
    return faults


def main() -> int:
    done = subprocess.run([sys.argv[1]], capture_output=True, text=True, timeout=60, check=True)
    said, of_law = [int(n) for n in done.stdout.split()], 65536 + 256
    faults = [] if len(said) == 2 * of_law else [f"{len(said)} lines"]
    for number, law in enumerate(LAWS):
        part = said[number * of_law:(number + 1) * of_law]
        faults += check(law, part[:65536], part[65536:])
    print("\n".join(faults[:20]) or "g711: ok")
    return 1 if faults else 0


sys.exit(main())
