# SPDX-License-Identifier: MIT
"""The language of the random programs: what each statement does, and how it is written in C.

Values stay small, so that no type overflows.  Registers are a thread's local variables; they and
the last value of each location are the outcome of a program.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Callable, Generator, NamedTuple, Union

from . import search
from .search import FENCE, REFUSED, RETRY, Body, Op

Registers = dict[int, int]
Steps = Generator[Op, int, None]

ORDERS = {"load": ("relaxed", "acquire", "seq_cst"), "store": ("relaxed", "release", "seq_cst"),
          "update": ("relaxed", "acquire", "release", "acq_rel", "seq_cst")}


@dataclass(frozen=True)
class Location:
    """how: 'atomic' (stdatomic.h), 'operator' (_Atomic with C's operators), 'builtin' (__atomic_*)
    or 'plain'."""
    name: str
    type: str
    how: str
    initial: int = 0

    def declare(self) -> str:
        qualified = self.type
        if self.how in ("atomic", "operator"):
            qualified = f"_Atomic({self.type})"
        elif self.how == "plain":           # else the compiler leaves out the store of what is there
            qualified = f"volatile {self.type}"
        return f"static {qualified} {self.name} = {self.initial};"

    def load(self, order: str) -> str:
        if self.how in ("plain", "operator"):
            return self.name
        if self.how == "builtin":
            return f"__atomic_load_n(&{self.name}, __ATOMIC_{order.upper()})"
        if order == "seq_cst":
            return f"atomic_load(&{self.name})"
        return f"atomic_load_explicit(&{self.name}, memory_order_{order})"

    def store(self, value: str, order: str) -> str:
        value = f"({self.type})({value})"
        if self.how in ("plain", "operator"):
            return f"{self.name} = {value};"
        if self.how == "builtin":
            return f"__atomic_store_n(&{self.name}, {value}, __ATOMIC_{order.upper()});"
        if order == "seq_cst":
            return f"atomic_store(&{self.name}, {value});"
        return f"atomic_store_explicit(&{self.name}, {value}, memory_order_{order});"

    def update(self, what: str, value: str, order: str) -> str:
        word = what if what == "exchange" else f"fetch_{what}"
        value = f"({self.type})({value})"
        if self.how == "builtin":
            word += "_n" if what == "exchange" else ""
            return f"__atomic_{word}(&{self.name}, {value}, __ATOMIC_{order.upper()})"
        if order == "seq_cst":
            return f"atomic_{word}(&{self.name}, {value})"
        return f"atomic_{word}_explicit(&{self.name}, {value}, memory_order_{order})"

    def cas(self, expected: str, desired: str, weak: bool, order: str) -> str:
        operands = f"&{self.name}, &{expected}, ({self.type})({desired})"
        if self.how == "builtin":
            return (f"__atomic_compare_exchange_n({operands}, {int(weak)}, "
                    f"__ATOMIC_{order.upper()}, __ATOMIC_RELAXED)")
        strength = "weak" if weak else "strong"
        if order == "seq_cst":
            return f"atomic_compare_exchange_{strength}({operands})"
        return (f"atomic_compare_exchange_{strength}_explicit({operands}, memory_order_{order}, "
                "memory_order_relaxed)")


@dataclass(frozen=True)
class Value:
    """A constant, plus a register if one is named."""
    constant: int
    register: int | None = None

    def of(self, registers: Registers) -> int:
        return self.constant + (registers[self.register] if self.register is not None else 0)

    def __str__(self) -> str:
        return f"r{self.register} + {self.constant}" if self.register is not None \
            else str(self.constant)


@dataclass(frozen=True)
class Load:
    register: int
    location: Location
    order: str

    def run(self, registers: Registers) -> Steps:
        plain = self.location.how == "plain"
        registers[self.register] = yield search.load(self.location.name, plain)

    def lines(self) -> list[str]:
        return [f"r{self.register} = {self.location.load(self.order)};"]


@dataclass(frozen=True)
class Store:
    location: Location
    value: Value
    order: str

    def run(self, registers: Registers) -> Steps:
        plain = self.location.how == "plain"
        yield search.store(self.location.name, self.value.of(registers), plain)

    def lines(self) -> list[str]:
        return [self.location.store(str(self.value), self.order)]


UPDATES: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "or": lambda a, b: a | b,
    "and": lambda a, b: a & b, "xor": lambda a, b: a ^ b, "exchange": lambda a, b: b,
}
_OPERATORS = {"add": "+", "sub": "-", "or": "|", "and": "&", "xor": "^"}


@dataclass(frozen=True)
class Update:
    """A read-modify-write; with C's operators its register gets nothing."""
    register: int
    what: str
    location: Location
    value: Value
    order: str

    def run(self, registers: Registers) -> Steps:
        operand = self.value.of(registers)
        old = yield search.update(self.location.name, lambda old: UPDATES[self.what](old, operand))
        if self.location.how != "operator":
            registers[self.register] = old

    def lines(self) -> list[str]:
        where = self.location
        if where.how == "operator":
            return [f"{where.name} {_OPERATORS[self.what]}= ({where.type})({self.value});"]
        return [f"r{self.register} = {where.update(self.what, str(self.value), self.order)};"]


@dataclass(frozen=True)
class Cas:
    """The register gets the value that was there."""
    register: int
    location: Location
    expected: Value
    desired: Value
    order: str

    def run(self, registers: Registers) -> Steps:
        expected, desired = self.expected.of(registers), self.desired.of(registers)
        registers[self.register] = yield search.cas(self.location.name, expected, desired)

    def lines(self) -> list[str]:
        call = self.location.cas("e", str(self.desired), False, self.order)
        return ["{", f"    {self.location.type} e = ({self.location.type})({self.expected});",
                f"    (void){call};", f"    r{self.register} = e;", "}"]


@dataclass(frozen=True)
class CasLoop:
    """Adds n by a loop around a compare-and-exchange; the register gets what was there."""
    register: int
    location: Location
    n: int
    weak: bool
    order: str

    def run(self, registers: Registers) -> Steps:
        old = yield search.load(self.location.name)
        while (got := (yield search.cas(self.location.name, old, old + self.n))) != old:
            old = got
        registers[self.register] = old

    def lines(self) -> list[str]:
        call = self.location.cas("e", f"e + {self.n}", self.weak, self.order)
        return ["{", f"    {self.location.type} e = {self.location.load('relaxed')};",
                f"    while (!{call})", "        ;", f"    r{self.register} = e;", "}"]


@dataclass(frozen=True)
class Await:
    """Waits until the location holds the value, or another one."""
    location: Location
    value: int
    equal: bool
    order: str

    def run(self, _: Registers) -> Steps:
        yield search.until(self.location.name, lambda v: (v == self.value) == self.equal)

    def lines(self) -> list[str]:
        test = "!=" if self.equal else "=="
        return [f"while ({self.location.load(self.order)} {test} {self.value})", "    ;"]


@dataclass(frozen=True)
class AwaitEither:
    """Waits until one of two locations holds another value."""
    first: Location
    second: Location
    values: tuple[int, int]
    order: str

    def run(self, _: Registers) -> Steps:
        while (yield search.load(self.first.name)) == self.values[0] and \
                (yield search.load(self.second.name)) == self.values[1]:
            yield RETRY

    def lines(self) -> list[str]:
        return [f"while ({self.first.load(self.order)} == {self.values[0]} && "
                f"{self.second.load(self.order)} == {self.values[1]})", "    ;"]


@dataclass(frozen=True)
class AwaitBoth:
    """Waits until each of two locations holds another value, at two moments."""
    first: Location
    second: Location
    values: tuple[int, int]
    order: str

    def run(self, _: Registers) -> Steps:
        while (yield search.load(self.first.name)) == self.values[0] or \
                (yield search.load(self.second.name)) == self.values[1]:
            yield RETRY

    def lines(self) -> list[str]:
        return [f"while ({self.first.load(self.order)} == {self.values[0]} || "
                f"{self.second.load(self.order)} == {self.values[1]})", "    ;"]


@dataclass(frozen=True)
class AwaitExchange:
    """Exchanges until it gets another value than it puts there: to store what was read is to
    read."""
    location: Location
    value: int
    order: str

    def run(self, _: Registers) -> Steps:
        yield Op(self.location.name, accept=lambda old: old != self.value,
                 new=lambda _: self.value)

    def lines(self) -> list[str]:
        call = self.location.update("exchange", str(self.value), self.order)
        return [f"while ({call} == {self.value})", "    ;"]


@dataclass(frozen=True)
class AwaitCas:
    """Exchanges until that succeeds.  looks: it reads first, until it would succeed.  What fails is
    work, but not twice with the same write."""
    location: Location
    expected: int
    desired: int
    looks: bool
    order: str

    def run(self, _: Registers) -> Steps:
        name, op = self.location.name, search.cas
        if self.looks:
            yield search.until(name, lambda v: v == self.expected)
        while (yield op(name, self.expected, self.desired)) != self.expected:
            if self.looks:
                yield search.until(name, lambda v: v == self.expected)
            else:
                op = search.retry

    def lines(self) -> list[str]:
        call = self.location.cas("e", str(self.desired), False, self.order)
        look = [f"    while ({self.location.load(self.order)} != {self.expected})", "        ;",
                f"    e = {self.expected};"] if self.looks else [f"    e = {self.expected};"]
        return ["for (;;) {", f"    {self.location.type} e;", *look, f"    if ({call})",
                "        break;", "}"]


@dataclass(frozen=True)
class Fence:
    order: str

    def run(self, _: Registers) -> Steps:
        yield FENCE

    def lines(self) -> list[str]:
        return [f"atomic_thread_fence(memory_order_{self.order});"]


@dataclass(frozen=True)
class Assume:
    """Executions in which the register does not hold the value are of no interest."""
    register: int
    value: int

    def run(self, registers: Registers) -> Steps:
        if registers[self.register] != self.value:
            yield REFUSED

    def lines(self) -> list[str]:
        return [f"__VERIFIER_assume(r{self.register} == {self.value});"]


@dataclass(frozen=True)
class If:
    """Does something if a register holds the value."""
    register: int
    value: int
    body: tuple[Statement, ...]

    def run(self, registers: Registers) -> Steps:
        if registers[self.register] == self.value:
            for statement in self.body:
                yield from statement.run(registers)

    def lines(self) -> list[str]:
        return [f"if (r{self.register} == {self.value}) {{", *_indented(self.body), "}"]


@dataclass(frozen=True)
class Critical:
    """Something under a lock. kind: 'mutex'; 'spin', by exchange; 'ttas', which looks first."""
    kind: str
    lock: str
    body: tuple[Statement, ...]

    def run(self, registers: Registers) -> Steps:
        if self.kind != "ttas":
            yield search.acquire(self.lock)
        else:
            while True:
                yield search.until(self.lock, lambda v: v == 0)
                if (yield search.exchange(self.lock, 1)) == 0:
                    break
                yield RETRY
        for statement in self.body:
            yield from statement.run(registers)
        yield search.store(self.lock, 0)

    def lines(self) -> list[str]:
        inner = [line for statement in self.body for line in statement.lines()]
        return [f"{self.kind}_lock(&{self.lock});", *inner, f"{self.kind}_unlock(&{self.lock});"]


Waiting = (Await, AwaitEither, AwaitBoth, AwaitExchange, AwaitCas)
Statement = Union[Load, Store, Update, Cas, CasLoop, Await, AwaitEither, AwaitBoth, AwaitExchange,
                  AwaitCas, Assume, Fence, If, Critical]


def _indented(body: tuple[Statement, ...]) -> list[str]:
    return ["    " + line for statement in body for line in statement.lines()]


def _registers(body: tuple[Statement, ...]) -> set[int]:
    out: set[int] = set()
    for statement in body:
        if isinstance(statement, (If, Critical)):
            out |= _registers(statement.body)
        register = getattr(statement, "register", None)
        if register is not None:
            out.add(register)
    return out


def _awaits(body: tuple[Statement, ...]) -> bool:
    return any(isinstance(statement, Waiting) or
               (isinstance(statement, (If, Critical)) and _awaits(statement.body))
               for statement in body)


def _locks(body: tuple[Statement, ...]) -> set[tuple[str, str]]:
    out: set[tuple[str, str]] = set()
    for statement in body:
        if isinstance(statement, (If, Critical)):
            out |= _locks(statement.body)
        if isinstance(statement, Critical):
            out.add((statement.kind, statement.lock))
    return out


@dataclass(frozen=True)
class Source:
    """A program: what the enumerator takes, and the C file that says the same."""
    locations: tuple[Location, ...]
    threads: tuple[tuple[Statement, ...], ...]
    main_runs_first: bool                       # main() itself is the first thread
    c11_threads: bool                           # threads.h in place of pthread.h

    def registers(self, t: int) -> list[int]:
        return sorted(_registers(self.threads[t]))

    def awaits(self) -> bool:
        return any(_awaits(body) for body in self.threads)

    def program(self) -> search.Program:
        def thread(t: int) -> Body:
            registers = {r: 0 for r in self.registers(t)}
            for statement in self.threads[t]:
                yield from statement.run(registers)
            return tuple(registers[r] for r in self.registers(t))
        return search.Program(tuple(partial(thread, t) for t in range(len(self.threads))),
                              {place.name: place.initial for place in self.locations})

    def digests(self, found: search.Found) -> list[int]:
        """A number for each outcome; the C file computes the same."""
        out = set()
        for results, memory in found.outcomes:
            last = dict(memory)
            digest = 0
            values = [v for result in results for v in result]
            values += [last.get(place.name, place.initial) for place in self.locations]
            for value in values:
                digest = (digest * 1000003 + value) % 2 ** 64
            out.add(digest)
        return sorted(out)

    # ---- as C ----

    def c(self, digests: list[int], comment: str) -> str:
        """With assertions that the outcome is one of these, and not NEVER, if that is defined."""
        api = _C11 if self.c11_threads else _PTHREADS
        own = range(1 if self.main_runs_first else 0, len(self.threads))
        out = [f"/* {comment} */", "#include <assert.h>", f"#include <{api.header}>",
               "#include <stdatomic.h>", "#include <stddef.h>", *self._declare_assume(), ""]
        out += [place.declare() for place in self.locations] + self._declare_locks()
        for t, body in enumerate(self.threads):
            registers = self.registers(t)
            out += [""] + ([f"static long out{t}[{len(registers)}];"] if registers else [])
            out += [f"static {api.function}thread{t}(void *arg)", "{"]
            out += [f"    long r{r} = 0;" for r in registers]
            out += _indented(body)
            out += [f"    out{t}[{i}] = r{r};" for i, r in enumerate(registers)]
            out += [f"    return {api.result};", "}"]
        known = ", ".join(f"{digest}U" for digest in digests or [0])
        values = [f"out{t}[{i}]" for t in range(len(self.threads))
                  for i in range(len(self.registers(t)))]
        values += [f"(long long){place.load('relaxed')}" for place in self.locations]
        out += ["", "int main(void)", "{",
                f"    static const unsigned long long known[] = {{{known}}};",
                "    unsigned long long digest = 0;", "    int found = 0;"]
        out += [f"    {api.thread} t{t};" for t in own] + self._init_locks()
        out += [f"    {api.create.format(t)}" for t in own]
        out += ["    thread0(NULL);"] if self.main_runs_first else []
        out += [f"    {api.join.format(t)}" for t in own]
        out += [f"    digest = digest * 1000003 + (unsigned long long){value};" for value in values]
        return "\n".join(out) + _END

    def _declare_assume(self) -> list[str]:
        """The checker knows it by name; else it ends the process."""
        if not any(isinstance(statement, Assume) for body in self.threads for statement in body):
            return []
        return ["#ifdef __DSCHECK__", "void __VERIFIER_assume(int condition);", "#else", "#include <stdlib.h>",
                "#define __VERIFIER_assume(condition) ((condition) ? (void)0 : _Exit(0))", "#endif"]

    def _locks(self) -> list[tuple[str, str]]:
        """Kind and name of each."""
        return sorted({lock for body in self.threads for lock in _locks(body)})

    def _declare_locks(self) -> list[str]:
        out: list[str] = []
        for kind in sorted({kind for kind, _ in self._locks()}):
            out += ["", *_LOCKS[kind if kind != "mutex" or not self.c11_threads else "mtx"]]
        return out + [f"static {kind}_t {lock};" for kind, lock in self._locks()]

    def _init_locks(self) -> list[str]:
        call = "mtx_init(&{}, mtx_plain);" if self.c11_threads else "pthread_mutex_init(&{}, NULL);"
        return ["    " + call.format(lock) for kind, lock in self._locks() if kind == "mutex"]


class _Api(NamedTuple):
    header: str
    thread: str
    function: str
    result: str
    create: str
    join: str


_PTHREADS = _Api("pthread.h", "pthread_t", "void *", "arg",
                 "pthread_create(&t{0}, NULL, thread{0}, NULL);", "pthread_join(t{0}, NULL);")
_C11 = _Api("threads.h", "thrd_t", "int ", "arg != NULL",
            "thrd_create(&t{0}, thread{0}, NULL);", "thrd_join(t{0}, NULL);")

_LOCKS = {
    "mutex": ["typedef pthread_mutex_t mutex_t;", "#define mutex_lock pthread_mutex_lock",
              "#define mutex_unlock pthread_mutex_unlock"],
    "mtx": ["typedef mtx_t mutex_t;", "#define mutex_lock mtx_lock",
            "#define mutex_unlock mtx_unlock"],
    "spin": ["typedef atomic_flag spin_t;", "static void spin_lock(spin_t *lock)", "{",
             "    while (atomic_flag_test_and_set(lock))", "        ;", "}",
             "#define spin_unlock atomic_flag_clear"],
    "ttas": ["typedef atomic_int ttas_t;", "static void ttas_lock(ttas_t *lock)", "{", "    do {",
             "        while (atomic_load(lock) != 0)", "            ;",
             "    } while (atomic_exchange(lock, 1) != 0);", "}",
             "#define ttas_unlock(lock) atomic_store(lock, 0)"],
}

_END = """
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        found |= known[i] == digest;
    assert(found); /* else an outcome that cannot be */
#ifdef NEVER
    assert(digest != NEVER); /* which is an outcome: to be found */
#endif
    return 0;
}
"""
