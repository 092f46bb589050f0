#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Record what memcached answers, for kvcache to be held against.

    record_kvcache.py [MEMCACHED] > tests/data/kvcache.txt

Each line of the recording is one of

    = name      a conversation begins, with a server that has just been started
    > text      what is sent: one command, or what belongs together
    < text      what is answered to that, which may be nothing
    ~ n         n seconds pass

with \\r, \\n, \\t, \\\\ and \\xNN in texts, and \\@n; for the date in n seconds. What depends on the moment within a second, on how
packets are cut, or on the machine is not asked for.
"""
from __future__ import annotations

import random
import re
import socket
import subprocess
import sys
import time

LONG = b"k" * 251
FITS = LONG[:250]

Step = bytes | int

MALFORMED: list[Step] = [
    b"\r\n", b"\n", b" \r\n", b"foo\r\n", b"foo noreply\r\n", b"get\r\n", b"get \r\n", b"gets\r\n", b"GET a\r\n", b"ge\r\n",
    b"gett a\r\n", b"get\ta\r\n", b"setx\r\n", b"addx a 0 0 1\r\nx\r\n", b"set\r\n", b"set a\r\n", b"set a 0\r\n", b"set a 0 0\r\n",
    b"set a 0 0 1 2 3\r\n", b"set a 0 0 1 noreply x\r\n", b"set a 0 0 1 foo\r\nx\r\n", b"set a 0 0 1 NOREPLY\r\nx\r\n",
    b"set a 0 0 1 noreply noreply\r\nx\r\n", b"set a 0 0 noreply\r\n", b"set a -1 0 1\r\nx\r\n", b"set a 0x1 0 1\r\nx\r\n",
    b"set a 1a 0 1\r\nx\r\n", b"set a +1 0 1\r\nx\r\n", b"get a\r\n", b"set a x 0 1 noreply\r\nx\r\n", b"set a 0 0 -1\r\nx\r\n",
    b"set a 0 0 -2\r\nx\r\n", b"set a 0 0 2147483647\r\nx\r\n", b"set a 0 0 2147483646\r\nx\r\n", b"set a 0 0 4294967296\r\nx\r\n",
    b"set a 0 0 99999999999999999999\r\nx\r\n", b"set a 0 0 1x\r\nx\r\n", b"set a 0 x 1\r\nx\r\n", b"set a 0 1e3 1\r\nx\r\n",
    b"set a 0 99999999999999999999 1\r\nx\r\n", b"set " + LONG + b" 0 0 1\r\nx\r\n", b"set " + LONG + b" 0 0 1 noreply\r\nx\r\n",
    b"set a 99999999999999999999 0 1\r\nx\r\n", b"add a\r\n", b"replace a\r\n", b"append a\r\n", b"prepend a 0 0 -1\r\n", b"cas a 0 0 1\r\nx\r\n",
    b"cas a 0 0 1 x\r\nx\r\n", b"cas a 0 0 1 -1\r\nx\r\n", b"cas a 0 0 1 18446744073709551616\r\nx\r\n", b"cas a 0 0 1 1 2 3\r\n",
    b"cas a 0 0 1 0\r\nx\r\n", b"cas a 0 0 1 5 foo\r\nx\r\n", b"cas none 0 0 1 5\r\nx\r\n", b"cas none 0 0 1 5 noreply\r\nx\r\n",
    b"get " + LONG + b"\r\n", b"get a " + LONG + b" a\r\n", b"get " + b" ".join(b"k%d" % i for i in range(30)) + b" " + LONG + b"\r\n",
    b"gets " + LONG + b"\r\n", b"get a b  a\r\n", b"get a\n", b"  get  a  \r\n", b"version \r\n", b"  version\r\n", b"version\r\r\n",
    b"version\r\x00\n", b"version\x00x\r\n", b"a\x00b\r\n", b"get a\x00b a\r\n", b"get a\r\r\n", b"get a b\rc\r\n", b"bget a\r\n",
    b"delete\r\n", b"delete a foo\r\n", b"delete a 1\r\n", b"delete a 00\r\n", b"delete a 0 foo\r\n", b"delete a 0 0 0\r\n",
    b"delete " + LONG + b"\r\n", b"delete a noreply noreply\r\n", b"get a\r\n", b"delete a 0\r\n", b"delete a\r\n", b"delete a 0 noreply\r\n",
    b"delete a noreply\r\n", b"incr\r\n", b"incr a\r\n", b"incr a 1\r\n", b"incr a x\r\n", b"incr a 1 2 3\r\n", b"decr a 1\r\n", b"decr a\r\n",
    b"incr " + LONG + b" 1\r\n", b"incr a x noreply\r\n", b"incr a 1 noreply\r\n", b"decr a -1\r\n", b"touch\r\n", b"touch a\r\n",
    b"touch a x\r\n", b"touch a 0\r\n", b"touch a 0 noreply\r\n", b"touch a 0 0 0\r\n", b"touch " + LONG + b" 0\r\n", b"touch a x noreply\r\n",
    b"gat\r\n", b"gat 0\r\n", b"gat x a\r\n", b"gat 0 a\r\n", b"gats\r\n", b"gats 0\r\n", b"gats 0 a\r\n", b"gat 0 " + LONG + b"\r\n",
    b"verbosity\r\n", b"verbosity 1\r\n", b"verbosity 1 noreply\r\n", b"verbosity x\r\n", b"verbosity 1 2\r\n", b"verbosity 1 2 3 4\r\n",
    b"verbosity noreply\r\n", b"verbosity -1\r\n", b"verbosity 1 2 noreply\r\n", b"verbosity 0\r\n", b"version\r\n", b"version x\r\n",
    b"VERSION\r\n", b"quitx\r\n", b"flush_all x\r\n", b"flush_all x noreply\r\n", b"flush_all 0 x\r\n", b"flush_all 0 0 0\r\n",
    b"delete " + LONG + b" 1\r\n", b"delete " + LONG + b" 0\r\n", b"delete " + LONG + b" 0 foo\r\n", b"delete " + LONG + b" noreply\r\n",
    b"delete noreply\r\n", b"set noreply 0 0 1\r\nx\r\n", b"get noreply\r\n", b"delete noreply\r\n", b"delete noreply 0\r\n",
    b"set noreply 0 0 1\r\nx\r\n", b"delete noreply noreply\r\n", b"delete noreply 0 noreply\r\n", b"get noreply\r\n",
    b"incr noreply\r\n", b"incr noreply noreply\r\n", b"touch noreply\r\n", b"touch noreply noreply\r\n", b"gat noreply\r\n",
    b"gets noreply\r\n", b"set noreply\r\n", b"verbosity noreply noreply\r\n", b"flush_all noreply noreply\r\n",
    b"flush_all 1 2 noreply\r\n", b"stats foo\r\n", b"stats noreply\r\n", b"stats reset\r\n", b"x" * 2040 + b"\r\n",
    b"get " + b" ".join(b"key%04d" % i for i in range(220)) + b"\r\n", b"set " + b"x" * 300 + b"\r\n",
]

STORES: list[Step] = [
    b"set a 5 0 3\r\nabc\r\n", b"get a\r\n", b"gets a\r\n", b"set a  7   0   1 \r\ny\r\n", b"gets a\r\n", b"set a 0 0 0\r\n\r\n", b"get a\r\n",
    b"set a 4294967295 0 1\r\nx\r\n", b"get a\r\n", b"set a 4294967296 0 1\r\nx\r\n", b"get a\r\n", b"set a 4294967301 0 1\r\nx\r\n", b"get a\r\n",
    b"set a 0 0 2\r\n\r\n\r\n", b"get a\r\n", b"set a 0 0 6\r\nEND\r\n \r\n", b"get a\r\n", b"set a 0 0 3\r\n\x00\x80\xff\r\n", b"get a\r\n",
    b"set a 0 0 3\r\nabcdef\r\n", b"get a\r\n", b"set a 0 0 3\r\nab\r\nget a\r\n", b"get a\r\n", b"set a 0 0 3\r\nabc\nget a\r\n", b"get a\r\n",
    b"set a 0 0 3\r\nabc\rXget a\r\n", b"get a\r\n", b"set a 0 0 3 noreply\r\nabcdef\r\nget a\r\n", b"get a\r\n",
    b"set " + FITS + b" 0 0 1\r\nx\r\n", b"get " + FITS + b"\r\n", b"gets a " + FITS + b" a\r\n", b"set a\tb 0 0 1\r\nx\r\n", b"get a\tb\r\n",
    b"set \x01\x80 0 0 1\r\nx\r\n", b"get \x01\x80\r\n", b"set a\rb 0 0 1\r\nx\r\n", b"get a\rb\r\n", b"set b 0 0 1 noreply\r\nz\r\n", b"get a b none b\r\n",
    b"set a 0 0 1 noreply\r\n1\r\nset b 0 0 1 noreply\r\n2\r\nget a b\r\n", b"add a 0 0 1\r\nx\r\n", b"add c 9 0 1\r\nx\r\n", b"gets c\r\n",
    b"add c 0 0 1 noreply\r\ny\r\n", b"replace c 3 0 1\r\ny\r\n", b"gets c\r\n", b"replace none 3 0 1\r\ny\r\n", b"get none\r\n",
    b"append c 8 0 2\r\n>>\r\n", b"prepend c 8 0 2\r\n<<\r\n", b"gets c\r\n", b"append none 0 0 1\r\nx\r\n", b"prepend none 0 0 1\r\nx\r\n",
    b"append c 0 0 0\r\n\r\n", b"gets c\r\n", b"append c 0 0 1 noreply\r\n!\r\n", b"prepend c 0 0 1 noreply\r\n!\r\n", b"gets c\r\n",
    b"append c 0 0 1\r\nxy\r\n", b"gets c\r\n", b"delete c\r\n", b"delete c\r\n", b"get c\r\n", b"set a 0 0 1\r\nq\r\n", b"gets a\r\n",
    b"cas a 2 0 1 1\r\nx\r\n", b"gets a\r\n", b"set d 0 0 1\r\nx\r\n", b"gets d\r\n", b"delete d noreply\r\n", b"get d\r\n", b"cas d 0 0 1 1\r\nx\r\n",
    b"set e\r 0 0 1\r\nx\r\n", b"get e\r\r\n", b"get e\r b\r\n", b"get b e\r\r\n", b"delete e\r\r\n",
]

NUMBERS: list[Step] = [
    b"set n 7 0 1\r\n5\r\n", b"incr n 3\r\n", b"gets n\r\n", b"incr n +3\r\n", b"incr n 3x\r\n", b"incr n 0x3\r\n", b"incr n  4\r\n", b"incr n -1\r\n",
    b"incr n 18446744073709551615\r\n", b"incr n 18446744073709551616\r\n", b"gets n\r\n", b"decr n 100\r\n", b"gets n\r\n", b"incr n 1 noreply\r\n",
    b"incr n 1 foo\r\n", b"gets n\r\n", b"set n 7 0 2\r\n10\r\n", b"decr n 1\r\n", b"gets n\r\n", b"decr n 1\r\n", b"get n\r\n", b"incr n 1\r\n", b"get n\r\n",
    b"incr n 91\r\n", b"gets n\r\n", b"append n 0 0 1\r\n1\r\n", b"incr n 1\r\n", b"get n\r\n", b"decr n 5 noreply\r\n", b"get n\r\n",
]
for text in (b"ab", b" -", b" 5", b"5 ", b"5x", b"", b"-5", b"-0", b"+5", b"18446744073709551615", b"18446744073709551616", b"184467440737095516150",
             b"000000000000000000000000000005", b"5\r\n", b"5\x00", b"\t5", b"- 5", b"+-5", b"4 4", b"99", b"18446744073709551614"):
    NUMBERS += [b"set n 0 0 %d\r\n" % len(text) + text + b"\r\n", b"incr n 1\r\n", b"get n\r\n", b"decr n 2\r\n", b"gets n\r\n"]

TIMES: list[Step] = [
    b"set a 0 -1 1\r\nx\r\n", b"get a\r\n", b"add a 0 -1 1\r\nx\r\n", b"add a 0 0 1\r\nx\r\n", b"add a 0 0 1\r\nx\r\n", b"set a 0 3 1\r\nx\r\n", b"get a\r\n",
    b"set b 0 2592001 1\r\nx\r\n", b"get b\r\n", b"set b 0 2592000 1\r\nx\r\n", b"get b\r\n", b"set c 0 4102444800 1\r\nx\r\n", b"get c\r\n",
    b"set d 0 1000000000 1\r\nx\r\n", b"get d\r\n", b"set e 0 100 1\r\n5\r\n", b"incr e 1\r\n", b"append a 0 100 1\r\ny\r\n", b"get a e\r\n",
    b"set f 0 0 1\r\nx\r\n", b"touch f 3\r\n", b"get f\r\n", b"set g 0 0 1\r\nx\r\n", b"gat 3 g none\r\n", b"gats 3 g\r\n", b"gats 0 b g e\r\n", b"gat 3 g\r\n",
    b"set h 0 3 1\r\nx\r\n", b"touch h 100\r\n", b"set i 0 3 1\r\nx\r\n", b"gat 0 i\r\n", b"set j 0 3 2\r\n10\r\n", b"incr j 1\r\n", b"set l 0 2147483647 1\r\nx\r\n",
    b"get l\r\n", 6,
    b"get a b c d e f g h i j l\r\n", b"incr j 1\r\n", b"append a 0 0 1\r\ny\r\n", b"replace f 0 0 1\r\nx\r\n", b"touch g 0\r\n", b"delete a\r\n", b"cas a 0 0 1 1\r\nx\r\n",
    b"add a 0 0 1\r\nz\r\n", b"gets a\r\n", b"touch a -1\r\n", b"get a\r\n", b"set a 0 0 1\r\nx\r\n", b"gat -1 a\r\n", b"get a\r\n", b"touch h -1 noreply\r\n", b"get h\r\n",
    b"set a 0 99999999999999 1\r\nx\r\n", b"get a\r\n",
]

FLUSHES: list[Step] = [
    b"set a 0 0 1\r\nx\r\n", b"flush_all\r\n", b"get a\r\n", b"set a 0 0 1\r\ny\r\n", b"gets a\r\n", b"flush_all 0\r\n", b"get a\r\n", b"add a 0 0 1\r\nz\r\n", b"gets a\r\n",
    b"flush_all noreply\r\n", b"gets a\r\n", b"set a 0 0 1\r\nx\r\n", b"flush_all 0 noreply\r\n", b"gets a\r\n", b"set a 0 0 1\r\nx\r\n", b"flush_all -1\r\n", b"get a\r\n",
    b"set a 0 0 1\r\nx\r\n", b"gets a\r\n", b"flush_all 4294967296\r\n", b"get a\r\n", b"set a 0 0 1\r\nx\r\n", b"set b 0 0 1\r\n5\r\n", b"flush_all 4\r\n", b"get a b\r\n", 6,
    b"get a\r\n", b"incr b 1\r\n", 2, b"set a 0 0 1\r\nx\r\n", b"get a b\r\n", b"flush_all 100 noreply\r\n", b"get a\r\n", b"flush_all\r\n", b"get a\r\n",
]

FILL = b"set a 0 0 1\r\nx\r\nset b 0 0 1\r\n5\r\n"
DATES: list[Step] = []      # \@n; is the date in n seconds, as it is written down
for when in (b"2592001", b"1000000000", b"\\@-3600;", b"\\@-100;", b"\\@-30;", b"\\@-2;", b"\\@3600;", b"\\@3600; noreply", b"2592000", b"2147483647", b"-1",
             b"-100", b"-2592001", b"-2147483648", b"-2147483649", b"2147483648", b"4294967295", b"9223372036854775807", b"-9223372036854775808",
             b"9223372036854775808", b"99999999999999999999", b"+5", b"+0", b"-0", b"00", b"1x", b"x1", b"0x10", b"1.5", b"-", b"+", b"--1", b"100 1",
             b"-1 noreply", b"1 noreply noreply", b"NOREPLY", b"noreply 1", b" 100 "):
    DATES += [FILL, b"flush_all " + when + b"\r\n", b"get a\r\n", b"incr b 1\r\n", b"gets a b\r\n", b"flush_all\r\n"]
LATER: list[Step] = [
    FILL, b"flush_all \\@4;\r\n", b"gets a b\r\n", 8, b"gets a\r\n", b"incr b 1\r\n", b"append b 0 0 1\r\n!\r\n", 2, FILL, b"gets a b\r\n",
    b"flush_all \\@4;\r\n", b"flush_all \\@3600;\r\n", 8, b"get a b\r\n", b"flush_all 4\r\n", b"flush_all -1\r\n", 2, FILL, 8, b"get a b\r\n",
    b"flush_all 4\r\n", b"flush_all 1000000000\r\n", 8, b"get a b\r\n",
    b"set c 0 \\@3600; 1\r\nx\r\n", b"get c\r\n", b"set c 0 \\@-30; 1\r\nx\r\n", b"get c\r\n", b"set c 0 \\@-3600; 1\r\nx\r\n", b"get c\r\n",
    b"set c 0 -2147483648 1\r\nx\r\n", b"get c\r\n", b"set c 0 -2147483649 1\r\nx\r\n", b"get c\r\n", b"set c 0 4294967295 1\r\nx\r\n", b"get c\r\n",
    b"add c 0 +100 1\r\nx\r\n", b"touch c \\@3600;\r\n", b"get c\r\n", b"touch c \\@-30;\r\n", b"get c\r\n", b"touch c 100\r\n",
    b"set d 0 \\@4; 1\r\n5\r\n", b"set e 0 0 1\r\nx\r\n", b"gat \\@4; e\r\n", b"set f 0 4 1\r\nx\r\n", b"gats \\@3600; f\r\n", b"set g 0 4 1\r\nx\r\n", b"touch g -2\r\n",
    b"incr d 1\r\n", b"gets d e f g\r\n", 8, b"gets d e f g\r\n", b"incr d 1\r\n", b"replace e 0 0 1\r\ny\r\n", b"add e 0 \\@-30; 1\r\ny\r\n", b"add e 0 0 1\r\nz\r\n", b"gets e\r\n",
    b"gat \\@-30; e\r\n", b"get e\r\n",
]

WRAPS: list[Step] = []      # numbers that come round
for number in (b"-9223372036854775807", b"-9223372036854775808", b"-9223372036854775809", b"-18446744073709551615", b"-18446744073709551616", b"-0", b"- 1"):
    WRAPS += [b"set a " + number + b" 0 1\r\n7\r\n", b"get a\r\n", b"set n 0 0 %d\r\n%b\r\n" % (len(number), number), b"incr n 1\r\n", b"get n\r\n",
              b"set n 0 0 3\r\n100\r\n", b"incr n " + number + b"\r\n", b"decr n " + number + b"\r\n", b"gets n\r\n", b"cas n 0 0 1 " + number + b"\r\n3\r\n",
              b"verbosity " + number + b"\r\n", b"verbosity 0\r\n"]


def tokens(chance: random.Random) -> list[Step]:
    """Commands that are right, over few keys, so that they meet."""
    steps: list[Step] = []
    for _ in range(60):
        key = chance.choice((b"a", b"b", b"key", b"x" * 40))
        quiet = b" noreply" if chance.random() < 0.15 else b""
        value = chance.choice((b"", b"1", b"41", b"999", b"word", b"a b\r\n", b"v" * 100))
        head = key + b" %d %d %d" % (chance.choice((0, 0, 1, 65535)), chance.choice((0, 0, 1000, -1)), len(value))
        tail = quiet + b"\r\n" + value + b"\r\n"
        verb = chance.choice((b"set", b"set", b"set", b"add", b"replace", b"append", b"prepend", b"cas", b"get", b"gets", b"get", b"incr",
                              b"incr", b"decr", b"delete", b"touch", b"gat", b"gats"))
        if verb == b"cas":
            steps.append(b"cas " + head + b" %d" % chance.randrange(1, 20) + tail)
        elif verb in (b"get", b"gets"):
            steps.append(verb + b" " + b" ".join(chance.choices((b"a", b"b", b"key", b"x" * 40, b"none"), k=chance.randrange(1, 5))) + b"\r\n")
        elif verb in (b"incr", b"decr"):
            steps.append(verb + b" " + key + b" %d" % chance.choice((0, 1, 10, 1000, 2**63)) + quiet + b"\r\n")
        elif verb in (b"delete",):
            steps.append(verb + b" " + key + quiet + b"\r\n")
        elif verb == b"touch":
            steps.append(verb + b" " + key + b" %d" % chance.choice((0, 1000, -1)) + quiet + b"\r\n")
        elif verb in (b"gat", b"gats"):
            steps.append(verb + b" %d " % chance.choice((0, 1000)) + key + b" b\r\n")
        else:
            steps.append(verb + b" " + head + tail)
    return steps


def dated(step: bytes) -> bytes:
    return re.sub(rb"\\@(-?\d+);", lambda m: b"%d" % (time.time() + int(m[1])), step)


def written(text: bytes) -> str:
    named = {0x0d: "\\r", 0x0a: "\\n", 0x09: "\\t", 0x5c: "\\\\"}
    return "".join(named.get(c) or (chr(c) if 0x20 <= c < 0x7f else f"\\x{c:02x}") for c in text)


class Peer:
    """A memcached that has just been started."""

    def __init__(self, program: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.process = subprocess.Popen([program, "-u", "nobody", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t", "1", "-m", "64"])
        for _ in range(500):
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), 10)
                return
            except ConnectionRefusedError:
                time.sleep(0.01)
        raise SystemExit("memcached does not listen")

    def answer(self, text: bytes) -> bytes:
        time.sleep(0.005)       # for it to have let go of the item of its last answer, which else is not changed in its place
        self.socket.sendall(text + b"mn\r\n")      # whose answer says that there is no more to come
        got = b""
        while not got.endswith(b"MN\r\n"):
            some = self.socket.recv(1 << 16)
            if not some:
                raise SystemExit(f"closed after {text!r}")
            got += some
        return got[:-4]

    def ends(self) -> None:
        self.socket.close()
        self.process.terminate()
        self.process.wait()


def main() -> int:
    program = sys.argv[1] if len(sys.argv) > 1 else "memcached"
    version = subprocess.run([program, "-V"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"# What {version} (Debian 12) answered; made by tests/scripts/record_kvcache.py, which says how to read it.")
    conversations = [("malformed", MALFORMED), ("stores", STORES), ("numbers", NUMBERS), ("times", TIMES), ("flushes", FLUSHES), ("dates", DATES), ("later dates", LATER), ("wraps", WRAPS)]
    conversations += [(f"random {seed}", tokens(random.Random(seed))) for seed in range(6)]
    for name, steps in conversations:
        peer = Peer(program)
        print(f"= {name}")
        for step in steps:
            if isinstance(step, int):
                time.sleep(step)
                print(f"~ {step}")
            else:
                print("> " + written(step).replace("\\\\@", "\\@"))
                print(f"< {written(peer.answer(dated(step)))}".rstrip(" "))
        peer.ends()
    return 0


if __name__ == "__main__":
    sys.exit(main())
