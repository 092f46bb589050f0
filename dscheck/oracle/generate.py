# SPDX-License-Identifier: MIT
"""Random programs: small enough for the enumerator, and of everything that the language has."""
from __future__ import annotations

import random

from .program import (ORDERS, UPDATES, Assume, Await, AwaitBoth, AwaitCas, AwaitEither, AwaitExchange, Cas,
                      CasLoop, Critical, Fence, If, Load, Location, Source, Statement, Store, Update,
                      Value)

TYPES = ("int", "long", "short", "signed char", "long long")
# Most operations a thread, by how many threads there are.
LONGEST = {2: 6, 3: 4, 4: 3}


class _Draw:
    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        rng = self.rng
        self.shared = [self.location(f"x{i}") for i in range(rng.choice((1, 1, 2, 2, 3)))]
        self.plain = [Location("p", rng.choice(TYPES), "plain")] if rng.random() < 0.3 else []
        kind = rng.choice(("mutex", "mutex", "spin", "ttas"))
        locks = rng.choice((1, 1, 2)) if rng.random() < 0.35 else 0
        self.locks = [(kind, f"lock{i}") for i in range(locks)]
        self.locked_only = rng.random() < 0.8           # plain accesses only under the first lock
        self.waits = rng.random() < 0.3

    def location(self, name: str) -> Location:
        how = self.rng.choice(("atomic", "atomic", "builtin", "operator"))
        return Location(name, self.rng.choice(TYPES), how, self.rng.choice((0, 0, 0, 1)))

    def order(self, what: str) -> str:
        return self.rng.choice(ORDERS[what])

    def value(self, known: list[int]) -> Value:
        if known and self.rng.random() < 0.3:
            return Value(self.rng.choice((0, 1)), self.rng.choice(known))
        return Value(self.rng.randint(0, 3))

    def statement(self, known: list[int], plain: bool) -> Statement:
        rng = self.rng
        register = rng.randint(0, 3)
        if plain and rng.random() < 0.7:
            where = rng.choice(self.plain)
            if rng.random() < 0.5:
                known.append(register)
                return Load(register, where, "relaxed")
            return Store(where, self.value(known), "relaxed")
        where = rng.choice(self.shared)
        weights = {"load": 30, "store": 30, "update": 15, "cas": 10, "loop": 3, "fence": 3,
                   "await": 8 if self.waits else 0, "either": 3 if self.waits else 0}
        what = rng.choices(list(weights), list(weights.values()))[0]
        if what == "load":
            known.append(register)
            return Load(register, where, self.order("load"))
        if what == "store":
            return Store(where, self.value(known), self.order("store"))
        if what == "update":
            names = [n for n in UPDATES if n != "exchange" or where.how != "operator"]
            name = rng.choice(names)
            value = self.value(known) if name == "exchange" else Value(rng.randint(1, 3))
            if where.how != "operator":
                known.append(register)
            return Update(register, name, where, value, self.order("update"))
        if what == "cas":
            expected, desired = self.value(known), self.value(known)
            known.append(register)
            return Cas(register, where, expected, desired, self.order("update"))
        if what == "loop":
            known.append(register)
            return CasLoop(register, where, rng.randint(1, 2), rng.random() < 0.5,
                           self.order("update"))
        if what == "await":
            return Await(where, rng.randint(0, 2), rng.random() < 0.4, self.order("load"))
        if what == "either":
            return AwaitEither(where, rng.choice(self.shared),
                               (rng.randint(0, 1), rng.randint(0, 1)), self.order("load"))
        return Fence(rng.choice(("acquire", "release", "acq_rel", "seq_cst")))

    def body(self, n: int, known: list[int], locks: list[tuple[str, str]],
             plain: bool) -> tuple[Statement, ...]:
        out: list[Statement] = []
        while n > 0:
            draw = self.rng.random()
            inner = self.rng.randint(1, min(n, 3))
            if locks and draw < 0.35:
                kind, lock = self.rng.choice(locks)
                rest = [other for other in locks if other[1] != lock]
                may = plain or (bool(self.plain) and lock == self.locks[0][1])
                out.append(Critical(kind, lock, self.body(inner, known, rest, may)))
                n -= inner
            elif known and draw > 0.85:
                register = self.rng.choice(known)
                out.append(If(register, self.rng.randint(0, 2), self.body(1, known, [], plain)))
                n -= 1
            else:
                out.append(self.statement(known, plain))
                n -= 1
        return tuple(out)


def generate(seed: int) -> Source:
    """The program of this seed: always the same."""
    draw = _Draw(seed)
    rng = draw.rng
    n = rng.choice((2, 2, 3, 3, 4))
    plain = bool(draw.plain) and not draw.locked_only
    threads = tuple(draw.body(rng.randint(2, LONGEST[n]), [], draw.locks, plain) for _ in range(n))
    return Source(tuple(draw.shared + draw.plain), threads, main_runs_first=rng.random() < 0.25,
                  c11_threads=rng.random() < 0.25)


def waits(seed: int) -> Source:
    """Another one: of a few stores, and waits for them."""
    rng = random.Random(f"waits {seed}")
    places = [Location(f"x{i}", "int", "atomic", rng.choice((0, 0, 0, 1)))
              for i in range(rng.choice((1, 1, 2, 3)))]
    n = rng.choice((2, 3, 3, 4))

    def wait() -> Statement:
        where, draw = rng.choice(places), rng.random()
        others = [place for place in places if place is not where]
        if draw < 0.2:
            return AwaitExchange(where, rng.choice((1, 2, 2, where.initial)), "seq_cst")
        if draw < 0.4:
            expected = rng.choice((where.initial, where.initial, rng.randint(0, 2)))
            return AwaitCas(where, expected, rng.randint(0, 3), rng.random() < 0.5, "seq_cst")
        if draw < 0.6 or not others:
            return Await(where, rng.randint(0, 2), rng.random() < 0.2, "seq_cst")
        values = rng.randint(0, 1), rng.randint(0, 1)
        kind = AwaitEither if draw < 0.85 else AwaitBoth
        return kind(where, rng.choice(others), values, "seq_cst")

    def statement(often: bool) -> Statement:
        where, register, draw = rng.choice(places), rng.randint(0, 1), rng.random()
        if draw < (0.3 if often else 0.07):
            return wait()
        if draw < 0.75:
            return Store(where, Value(rng.randint(0, 3)), "seq_cst")
        if draw < 0.85:
            name = rng.choice(("add", "exchange"))
            return Update(register, name, where, Value(rng.randint(1, 3)), "seq_cst")
        if draw < 0.93:
            return Load(register, where, "seq_cst")
        if draw < 0.95:
            return Assume(register, rng.randint(0, 1))
        return Cas(register, where, Value(rng.randint(0, 2)), Value(rng.randint(0, 3)), "seq_cst")

    def body(often: bool, most: int) -> tuple[Statement, ...]:
        out = [statement(often) for _ in range(rng.randint(1, most))]
        if often and rng.random() < 0.15:
            kind = rng.choice(("spin", "ttas"))
            out = [*out[:-2], Critical(kind, kind, tuple(out[-1:]))]
        return tuple(out)
    longest = {2: 5, 3: 4, 4: 2}[n]
    threads = tuple(body(t < 2, longest) for t in range(n))
    return Source(tuple(places), threads, main_runs_first=False, c11_threads=False)
