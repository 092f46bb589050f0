# SPDX-License-Identifier: MIT
"""What the tests of `./tenter check` share: a folder each, a program of a few lines, the verb with its answer."""
from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

# pylint: disable=wrong-import-position
from experiments.runner import check  # noqa: E402

ROOT = check.ROOT
HEAD = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <threads.h>
static pthread_t t[3];
static void go(void *(*f)(void *), void *(*g)(void *)) {
    pthread_create(&t[0], 0, f, 0); pthread_create(&t[1], 0, g, 0);
    pthread_join(t[0], 0); pthread_join(t[1], 0);
}
"""


@unittest.skipUnless(os.uname().machine == "x86_64" and shutil.which("objdump"), "the explorer is for x86-64")
class Checking(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = Path(folder.name)

    def run_check(self, *argv: str) -> tuple[int, dict, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            save = [] if "--replay" in argv else ["--save", str(self.at / "a.replay")]
            code = check.main([argv[0], "--json", str(self.at / "a.json"), *save, *argv[1:]])
        return code, json.loads((self.at / "a.json").read_text(encoding="utf-8")), out.getvalue()

    def program(self, text: str, name: str = "p.c", head: str = HEAD) -> str:
        (self.at / name).write_text(head + text, encoding="utf-8")
        return str(self.at / name)
