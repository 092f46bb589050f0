#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""G.711 mu-law: each sample and each code, against the decision values of the recommendation and Python's audioop.

    g711.py PROBE
"""
from __future__ import annotations

import subprocess
import sys
import warnings
from bisect import bisect_right


def decision_values() -> list[int]:
    """Table 2a: where the intervals of a positive sample of 14 bits begin: sixteen to a segment, each segment's
    twice as wide as those before, but for the first, which is 1 wide."""
    out, at = [0], 1
    for segment in range(8):
        for interval in range(16):
            if (segment, interval) != (0, 0):
                out.append(at)
                at += 2 << segment
    return out


STARTS = decision_values()


def encode(sample: int) -> int:
    value = sample >> 2
    interval = bisect_right(STARTS, abs(value)) - 1
    return (interval | (128 if value < 0 else 0)) ^ 255


def decode(code: int) -> int:
    interval = (code ^ 255) & 127
    ends = STARTS + [8159]
    middle = 0 if interval == 0 else (ends[interval] + ends[interval + 1]) // 2
    return 4 * (middle if code & 128 else -middle)


def main() -> int:
    said = [int(n) for n in subprocess.run([sys.argv[1]], capture_output=True, text=True, timeout=60, check=True).stdout.split()]
    codes, samples = said[:65536], said[65536:]
    faults = [f"sample {s}: {got}, not {encode(s)}" for s, got in zip(range(-32768, 32768), codes) if got != encode(s)]
    faults += [f"code {c}: {got}, not {decode(c)}" for c, got in enumerate(samples) if got != decode(c)]
    if len(samples) != 256:
        faults.append(f"{len(said)} lines")
    try:
        warnings.simplefilter("ignore", DeprecationWarning)
        import audioop  # pylint: disable=import-outside-toplevel,deprecated-module
    except ImportError:  # Python 3.13 has none
        print("audioop: not there")
    else:
        pcm = b"".join(s.to_bytes(2, sys.byteorder, signed=True) for s in range(-32768, 32768))
        if audioop.lin2ulaw(pcm, 2) != bytes(codes):
            faults.append("audioop encodes otherwise")
        if audioop.ulaw2lin(bytes(range(256)), 2) != b"".join(s.to_bytes(2, sys.byteorder, signed=True) for s in samples):
            faults.append("audioop decodes otherwise")
    print("\n".join(faults[:20]) or "g711: ok")
    return 1 if faults else 0


sys.exit(main())
