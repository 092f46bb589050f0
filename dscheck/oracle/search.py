# SPDX-License-Identifier: MIT
"""Every execution of a small concurrent program, by brute force.

An execution is what each thread has done (program order), which write each read got (reads-from)
and the order of the writes to each location (modification order); two runs that agree in these are
one execution.  The search keeps all executions of n operations at a time and makes from them all of
n + 1: nothing is clever, so that little can be wrong.

`interleave` is sequential consistency by its definition: a read gets the newest write, a write
becomes the newest. `axiomatic` takes every write for every read and every place for every write,
and keeps what a predicate over the graph lets pass.  A memory model is one such predicate.  It must
hold of the beginning of an execution if it holds of the whole; and an operation comes into the
graph after those that it reads from (no load buffering).
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Generator, Iterable, Iterator, NamedTuple, Optional

Accept = Callable[[int], bool]
New = Callable[[int], Optional[int]]


@dataclass(frozen=True, eq=False)
class Op:
    """One operation on one location; a fence, if it neither reads nor writes.

    accept: None if it does not read; else a value that it does not accept makes it wait for another
    one.
    new:    None if it does not write; else the value to write in place of the one read, None to
    leave it.
    again:  the operation before it, the same one, has failed: what that has read makes it wait.
    """
    location: str
    accept: Accept | None = None
    new: New | None = None
    plain: bool = False
    order: str = "seq_cst"
    again: bool = False


# A vain turn of an await that takes more than one operation: the execution is given up, since there
# is another without that turn.
RETRY = Op("")
# A thread whose assumption does not hold: the execution is of no interest.
REFUSED = Op("")

Body = Generator[Op, int, Any]      # gets what each operation has read; returns its result


@dataclass(frozen=True)
class Program:
    threads: tuple[Callable[[], Body], ...]
    initial: dict[str, int] = field(default_factory=dict)       # 0 where nothing is said


# ---- operations ----

def _any(_: int) -> bool:
    return True


def load(location: str, plain: bool = False) -> Op:
    return Op(location, accept=_any, plain=plain)


def store(location: str, value: int, plain: bool = False) -> Op:
    return Op(location, new=lambda _: value, plain=plain)


def update(location: str, new: New) -> Op:
    return Op(location, accept=_any, new=new)


def add(location: str, n: int) -> Op:
    return update(location, lambda old: old + n)


def exchange(location: str, value: int) -> Op:
    return update(location, lambda _: value)


def cas(location: str, expected: int, desired: int) -> Op:
    """Reads the old value; it has succeeded if that is the expected one."""
    return update(location, lambda old: desired if old == expected else None)


def retry(location: str, expected: int, desired: int) -> Op:
    """A compare-and-exchange after one that failed: to fail on the same write again is nothing."""
    return Op(location, accept=_any, new=lambda old: desired if old == expected else None,
              again=True)


def until(location: str, accept: Accept) -> Op:
    return Op(location, accept=accept)


def acquire(location: str) -> Op:
    """A lock that is 0 when it is free; `store(location, 0)` releases it."""
    return Op(location, accept=lambda old: old == 0, new=lambda _: 1)


FENCE = Op("")

# ---- executions ----

INITIAL = -1
MOST = 64           # operations of a thread


class Write(NamedTuple):
    event: int          # thread * MOST + how many operations the thread has done before
    value: int
    update: bool        # it has read the write before it: nothing comes between


class Read(NamedTuple):
    location: int       # by the number that the search gave it
    writer: int         # an event, or INITIAL
    value: int


History = tuple[Optional[Read], ...]        # of each operation of a thread: what it read
Order = tuple[Write, ...]


class Execution(NamedTuple):
    histories: tuple[History, ...]
    orders: tuple[Order, ...]               # of each location: its writes

    def edges(self) -> Iterator[tuple[int, int, str]]:
        """Program order, reads-from, modification order and from-reads, each without what follows
        by transitivity."""
        after: dict[tuple[int, int], int] = {}
        for location, order in enumerate(self.orders):
            before = INITIAL
            for write in order:
                after[location, before] = write.event
                if before != INITIAL:
                    yield before, write.event, "co"
                before = write.event
        for t, history in enumerate(self.histories):
            for i, read in enumerate(history):
                event = t * MOST + i
                if i != 0:
                    yield event - 1, event, "po"
                if read is None:
                    continue
                if read.writer != INITIAL:
                    yield read.writer, event, "rf"
                overwrites = after.get((read.location, read.writer), event)
                if overwrites != event:
                    yield event, overwrites, "fr"


# What each thread returned, and the last value of each location that was written.
Outcome = tuple[tuple[Any, ...], tuple[tuple[str, int], ...]]


@dataclass
class Found:
    executions: int = 0
    outcomes: set[Outcome] = field(default_factory=set)
    stuck: bool = False             # some threads wait for what nobody will do
    race: bool = False              # accesses in conflict, one plain, may come at once
    retries: bool = False           # some await takes more than one operation
    steps: int = 0


class TooMany(Exception):
    """The limit of steps was reached."""


def acyclic(edges: Iterable[tuple[int, int]]) -> bool:
    after: dict[int, list[int]] = {}
    degree: dict[int, int] = {}
    for a, b in edges:
        after.setdefault(a, []).append(b)
        degree[b] = degree.get(b, 0) + 1
        degree.setdefault(a, 0)
    free = [e for e, n in degree.items() if n == 0]
    done = 0
    while free:
        event = free.pop()
        done += 1
        for other in after.get(event, ()):
            degree[other] -= 1
            if degree[other] == 0:
                free.append(other)
    return done == len(degree)


class Search:
    def __init__(self, program: Program, limit: int | None = None, retries: bool = False):
        self.program = program
        self.limit = limit
        self.retries = retries
        self.numbers: dict[str, int] = {}
        self.known: dict[tuple[int, History], tuple[Op | None, object]] = {}

    # ---- what a thread does next ----

    def next(self, t: int, history: History) -> tuple[Op | None, object]:
        """The next operation, or None and the thread's result."""
        key = (t, history)
        if key not in self.known:
            body = self.program.threads[t]()
            result: object = None
            op: Op | None = None
            try:
                op = next(body)
                for entry in history:
                    op = body.send(entry.value if entry is not None else 0)
            except StopIteration as end:
                op, result = None, end.value
            self.known[key] = op, result
        return self.known[key]

    def number(self, location: str) -> int:
        return self.numbers.setdefault(location, len(self.numbers))

    def order(self, x: Execution, location: str) -> Order:
        n = self.number(location)
        return x.orders[n] if n < len(x.orders) else ()

    def done(self, x: Execution) -> list[list[Op]]:
        """The operations of each thread."""
        return [[op for i in range(len(history)) if (op := self.next(t, history[:i])[0])]
                for t, history in enumerate(x.histories)]

    # ---- one step ----

    def read(self, op: Op, order: Order, place: int) -> tuple[Read, int | None] | None:
        """What `op` gets when it reads the write at `place`, and what it then writes; None: it does
        not accept it."""
        assert op.accept is not None
        writer, value = (INITIAL, self.program.initial.get(op.location, 0)) if place < 0 else \
            (order[place].event, order[place].value)
        if not op.accept(value):
            return None
        new = op.new(value) if op.new is not None else None
        return Read(self.number(op.location), writer, value), new

    def extend(self, x: Execution, t: int, op: Op, got: Read | None, value: int | None,
               place: int) -> Execution:
        """`op` done by thread t; its write, if any, comes to stand at `place`."""
        histories = x.histories[:t] + (x.histories[t] + (got,),) + x.histories[t + 1:]
        if value is None:
            return Execution(histories, x.orders)
        n = self.number(op.location)
        orders = x.orders + ((),) * (n + 1 - len(x.orders))
        write = Write(t * MOST + len(x.histories[t]), value, got is not None)
        order = orders[n][:place] + (write,) + orders[n][place:]
        return Execution(histories, orders[:n] + (order,) + orders[n + 1:])

    def blind(self, x: Execution, t: int, op: Op, place: int) -> Execution:
        """The same for what does not read."""
        return self.extend(x, t, op, None, op.new(0) if op.new is not None else None, place)

    def newest(self, x: Execution, t: int, op: Op) -> Execution | None:
        """The step under sequential consistency; None: it waits."""
        order = self.order(x, op.location)
        if op.accept is None:
            return self.blind(x, t, op, len(order))
        got = self.read(op, order, len(order) - 1)
        if got is None or (op.again and got[0] == x.histories[t][-1]):
            return None
        return self.extend(x, t, op, *got, len(order))

    def anywhere(self, x: Execution, t: int, op: Op) -> Iterator[Execution]:
        """Every step that leaves updates atomic."""
        order = self.order(x, op.location)
        for place in range(-1, len(order)):
            follows = place + 1 < len(order) and order[place + 1].update
            if op.accept is not None:
                got = self.read(op, order, place)
                if op.again and got is not None and got[0] == x.histories[t][-1]:
                    continue
                if got is not None and (got[1] is None or not follows):
                    yield self.extend(x, t, op, *got, place + 1)
            elif not follows:
                yield self.blind(x, t, op, place + 1)

    # ---- all steps ----

    def run(self, steps: Callable[[Execution, int, Op], Iterable[Execution]],
            sequential: bool) -> Found:
        found = Found()
        layer = {Execution(((),) * len(self.program.threads), ())}
        while layer:
            following: set[Execution] = set()
            for x in layer:
                ops = [self.next(t, history)[0] for t, history in enumerate(x.histories)]
                if REFUSED in ops:
                    continue
                if RETRY in ops:
                    found.retries = True
                    continue
                if FENCE in ops:                # it meets nothing: no other order needs a look
                    following.add(self.extend(x, ops.index(FENCE), FENCE, None, None, 0))
                    continue
                more = [y for t, op in enumerate(ops) if op is not None for y in steps(x, t, op)]
                if not any(ops):
                    self.note(found, x)
                elif sequential and (not more or (self.retries and self.vain(x))):
                    found.stuck = True
                elif sequential and not found.race and self.race(x, ops):
                    found.race = True
                following.update(more)
                found.steps += len(more)
                if self.limit is not None and found.steps > self.limit:
                    raise TooMany
            layer = following
        return found

    def note(self, found: Found, x: Execution) -> None:
        found.executions += 1
        results = tuple(self.next(t, history)[1] for t, history in enumerate(x.histories))
        memory = [(location, order[-1].value) for location in self.numbers
                  if (order := self.order(x, location))]
        found.outcomes.add((results, tuple(sorted(memory))))

    def vain(self, x: Execution) -> bool:
        """Whether each thread that has not ended would, left alone, only wait."""
        return all(self.next(t, history)[0] is None or self.waits(x, t)
                   for t, history in enumerate(x.histories))

    def waits(self, x: Execution, t: int) -> bool:
        turns = 0
        while turns < 2:            # what the first one has read already may be out of date
            op = self.next(t, x.histories[t])[0]
            if op is None or op is REFUSED:
                return False
            if op is RETRY:
                turns += 1
            y = self.newest(x, t, op)
            if y is None:
                return True
            if y.orders != x.orders:
                return False
            x = y
        return True

    def race(self, x: Execution, ops: list[Op | None]) -> bool:
        ready = [op for t, op in enumerate(ops)
                 if op is not None and self.newest(x, t, op) is not None]
        return any(a.location == b.location and (a.plain or b.plain) and (a.new or b.new)
                   for i, a in enumerate(ready) for b in ready[:i])


def interleave(program: Program, limit: int | None = None, retries: bool = False) -> Found:
    search = Search(program, limit, retries)

    def steps(x: Execution, t: int, op: Op) -> list[Execution]:
        y = search.newest(x, t, op)
        return [] if y is None else [y]
    found = search.run(steps, sequential=True)
    # Awaits of several operations: only now is it known that each state must be asked whether all
    # threads turn in vain.
    return interleave(program, limit, True) if found.retries and not retries else found


Consistent = Callable[[Execution, list[list[Op]]], bool]


def axiomatic(program: Program, consistent: Consistent, limit: int | None = None) -> Found:
    search = Search(program, limit)

    def steps(x: Execution, t: int, op: Op) -> Iterator[Execution]:
        return (y for y in search.anywhere(x, t, op) if consistent(y, search.done(y)))
    return search.run(steps, sequential=False)


def sc(x: Execution, _: list[list[Op]]) -> bool:
    return acyclic((a, b) for a, b, _ in x.edges())
