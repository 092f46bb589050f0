# SPDX-License-Identifier: MIT
"""Builds what explore.c runs: the checker, and golden programs instrumented.

    check_images.py FOLDER NAME=FLAG,FLAG... ...
"""
from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

# pylint: disable=wrong-import-position
from experiments.runner import check_build  # noqa: E402


def main(argv: list[str]) -> int:
    folder = Path(argv[0])
    shutil.copy(check_build.checker(), folder / "dscheck.bin")
    for word in argv[1:]:
        name, _, flags = word.partition("=")
        made = check_build.image([ROOT / "dscheck" / "golden" / f"{name}.c"],
                                 [f"-D{flag}" for flag in flags.split(",") if flag])
        shutil.move(made, folder / f"{name}.so")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
