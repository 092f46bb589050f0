# SPDX-License-Identifier: MIT
"""The instrumentation sees every construct: dscheck/selftest.c says which events each one is, races show the plain ones."""
from __future__ import annotations

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
from checking import ROOT, Checking  # noqa: E402

SELFTEST = ROOT / "dscheck" / "selftest.c"

PLAIN_HEAD = """
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
char c; short s; int i, array[4]; long l; double d; volatile int v; _Bool b;
__int128 w; struct { int a : 3, b : 5; } bits; struct { char c; long l; } __attribute__((packed)) odd;
struct { long a[5]; } large, other; char text[16] = "text", to[16]; int *p = array; int *heap;
static void *t1(void *local) { (void)local; TOUCH; return 0; }
int main(void) { int local = 0; pthread_t t[2]; heap = calloc(4, sizeof(int)); for (int k = 0; k < 2; k++)
    pthread_create(&t[k], 0, t1, &local); for (int k = 0; k < 2; k++) pthread_join(t[k], 0); free(heap); return local; }
"""
PLAIN = ("c = 1", "s = 1", "i++", "l = 1", "d += 1", "v = 1", "b = !b", "w = 1", "bits.b = 3", "odd.l = 1", "large = other",
         "array[2] = 1", "*p = 1", "*(int *)local = 1", "heap[1] = 1", "memcpy(to, text, 5)", "memset(to, 0, 3)",
         "memmove(to, text, 5)", "strcpy(to, text)", "i = memcmp(to, text, 4)", "to[strlen(text)] = 1")


class Constructs(Checking):
    def test_events(self) -> None:
        code, answer, out = self.run_check(str(SELFTEST))
        self.assertEqual((code, answer["kind"]), (1, "assertion"), out)
        seen: dict[int, list[str]] = {}
        for step in answer["trace"]:
            name, _, line = step["place"].rpartition(":")
            if step["op"] != "end":
                self.assertEqual(name, "selftest.c", step)
                seen.setdefault(int(line), []).append(step["op"])
        said = 0
        for number, line in enumerate(SELFTEST.read_text(encoding="utf-8").splitlines(), 1):
            wanted = re.search(r"// (.*)", line)
            events = seen.pop(number, [])
            if wanted is None:
                self.assertEqual(events, [], f"{number}: {line}")
                continue
            said += 1
            if wanted[1] == "?":
                self.assertTrue(events, f"{number}: {line}")
            else:
                self.assertEqual(events, [w for w in wanted[1].split() if w != "-"], f"{number}: {line}")
        self.assertEqual(seen, {})
        self.assertGreater(said, 110)

    def test_plain_accesses(self) -> None:
        for touch in PLAIN:
            with self.subTest(touch):
                file = self.program(PLAIN_HEAD.replace("TOUCH", touch), head="")
                code, answer, _ = self.run_check(file)
                self.assertEqual((code, answer["kind"]), (1, "data race"))

    def test_every_operation_is_there(self) -> None:
        """Each name of <stdatomic.h> and each generic built-in of this gcc is in the file."""
        text = SELFTEST.read_text(encoding="utf-8")
        for name in ("init", "store", "load", "exchange", "compare_exchange_strong", "compare_exchange_weak", "fetch_add",
                     "fetch_sub", "fetch_or", "fetch_xor", "fetch_and", "flag_test_and_set", "flag_clear", "thread_fence",
                     "signal_fence"):
            self.assertTrue(re.search(rf"\batomic_{name}(_explicit)?\(", text), name)
        for name in ("load", "store", "exchange", "compare_exchange", "test_and_set", "clear", *(
                f"fetch_{op}" for op in ("add", "nand")), *(f"{op}_fetch" for op in ("add", "sub", "and", "or", "xor", "nand"))):
            self.assertTrue(re.search(rf"__atomic_{name}(_n)?\(", text), name)


if __name__ == "__main__":
    unittest.main()
