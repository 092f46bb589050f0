# SPDX-License-Identifier: MIT
"""The programs of dscheck/golden/, written down once more for the enumerator.

Each takes the macros of counts.yaml, and `retry`: whether a loop around a compare-and-exchange is
an await.  A vain turn of an await is `yield RETRY`, or an operation that waits by itself.  Fences
do nothing under sequential consistency and are left out.
"""
from __future__ import annotations

from functools import partial
from typing import Callable, Generator

from .search import (RETRY, Body, Op, Program, acquire, add, cas, exchange, load, store, until)

Part = Generator[Op, int, int]                  # of a body: a call that returns a value


def program(*threads: Callable[[], Body], **initial: int) -> Program:
    return Program(threads, initial)


def inc(N: int = 2, K: int = 2) -> Program:
    def thread() -> Body:
        for _ in range(K):
            v = yield load("x")
            yield store("x", v + 1)
    return program(*[thread] * N)


def faa(N: int = 2, K: int = 2) -> Program:
    def thread() -> Body:
        for _ in range(K):
            yield add("x", 1)
    return program(*[thread] * N)


def _lines(*ops: Op) -> Callable[[], Body]:
    def thread() -> Body:
        got = []
        for op in ops:
            got.append((yield op))
        return tuple(got)
    return thread


def sb() -> Program:
    return program(_lines(store("x", 1), load("y")), _lines(store("y", 1), load("x")))


def mp() -> Program:
    return program(_lines(store("x", 1), store("y", 1)), _lines(load("y"), load("x")))


def iriw() -> Program:
    return program(_lines(store("x", 1)), _lines(store("y", 1)), _lines(load("x"), load("y")),
                   _lines(load("y"), load("x")))


def writers(N: int = 2) -> Program:
    return program(*[_lines(store("x", 1 + i)) for i in range(N)])


def readers(N: int = 2) -> Program:
    return program(_lines(store("x", 1)), *[_lines(load("x"))] * N)


def lastzero(N: int = 2) -> Program:
    def reader() -> Body:
        for i in range(N, 0, -1):
            if (yield load(f"a{i}")) == 0:
                break

    def writer(j: int) -> Body:
        v = yield load(f"a{j - 1}")
        yield store(f"a{j}", v + 1)
    return program(reader, *[partial(writer, j) for j in range(1, N + 1)])


def treiber(N: int = 2, retry: bool = False) -> Program:
    def push(n: int) -> Part:
        old = yield load("top")
        while True:
            yield store(f"next{n}", old)
            got = yield cas("top", old, n)
            if got == old:
                return n
            old = got

    def pop() -> Part:
        old = yield load("top")
        while old != 0:
            n = yield load(f"next{old}")
            got = yield cas("top", old, n)
            if got == old:
                return old
            if retry:
                yield RETRY
            old = got
        return 0

    def thread(i: int) -> Body:
        yield from push(i + 1)
        return (yield from pop())
    return program(*[partial(thread, i) for i in range(N)])


def msq(NP: int = 1, NC: int = 1, retry: bool = False) -> Program:
    def enqueue(n: int) -> Body:
        while True:
            t = yield load("tail")
            nx = yield load(f"next{t}")
            if t != (yield load("tail")):
                if retry:
                    yield RETRY
                continue
            if nx == 0:
                if (yield cas(f"next{t}", 0, n)) == 0:
                    yield cas("tail", t, n)
                    return n
                if retry:
                    yield RETRY
            elif (yield cas("tail", t, nx)) != t and retry:
                yield RETRY

    def dequeue() -> Body:
        while True:
            h = yield load("head")
            t = yield load("tail")
            nx = yield load(f"next{h}")
            if h != (yield load("head")):
                if retry:
                    yield RETRY
                continue
            if nx == 0:
                return 0
            if h == t:
                if (yield cas("tail", t, nx)) != t and retry:
                    yield RETRY
            elif (yield cas("head", h, nx)) == h:
                return nx
            elif retry:
                yield RETRY
    return program(*[partial(enqueue, i + 2) for i in range(NP)], *[dequeue] * NC, head=1, tail=1)


def chaselev(NT: int = 1, WEAKBUG: int = 0) -> Program:
    del WEAKBUG                                 # fences only

    def owner() -> Body:
        got = []
        for v in (1, 2):
            b = yield load("bottom")
            yield load("top")
            yield store(f"slot{b & 3}", v)
            yield store("bottom", b + 1)
        for _ in range(2):
            b = (yield load("bottom")) - 1
            yield store("bottom", b)
            t = yield load("top")
            r = 0
            if t <= b:
                r = yield load(f"slot{b & 3}")
                if t == b:
                    if (yield cas("top", t, t + 1)) != t:
                        r = 0
                    yield store("bottom", b + 1)
            else:
                yield store("bottom", b + 1)
            got.append(r)
        return tuple(got)

    def thief() -> Body:
        t = yield load("top")
        b = yield load("bottom")
        if t >= b:
            return 0
        r = yield load(f"slot{t & 3}")
        return r if (yield cas("top", t, t + 1)) == t else 0
    return program(owner, *[thief] * NT)


def seqlock(N: int = 2) -> Program:
    def reader() -> Body:
        s = yield load("s")
        if s & 1:
            return None
        a = yield load("a")
        b = yield load("b")
        return (a, b) if (yield load("s")) == s else None
    writer = _lines(store("s", 1), store("a", 1), store("b", 1), store("s", 2))
    return program(writer, *[reader] * N)


seqlock_bug = seqlock                           # they differ by fences


def dekkertry() -> Program:
    def thread(i: int) -> Body:
        yield store(f"f{i}", 1)
        if not (yield load(f"f{1 - i}")):
            yield store("cs", i)
            assert (yield load("cs")) == i
        yield store(f"f{i}", 0)
    return program(partial(thread, 0), partial(thread, 1))


def _inside(me: int) -> Body:
    yield store("cs", me, plain=True)
    assert (yield load("cs", plain=True)) == me


def peterson() -> Program:
    def thread(i: int) -> Body:
        yield store(f"f{i}", 1)
        yield store("turn", 1 - i)
        while (yield load(f"f{1 - i}")) and (yield load("turn")) == 1 - i:
            yield RETRY
        yield from _inside(i)
        yield store(f"f{i}", 0)
    return program(partial(thread, 0), partial(thread, 1))


def spinlock(N: int = 2) -> Program:
    def thread(i: int) -> Body:
        yield acquire("lock")
        yield from _inside(i)
        yield store("lock", 0)
    return program(*[partial(thread, i) for i in range(N)])


def ttas(N: int = 2) -> Program:
    def thread(i: int) -> Body:
        while True:
            yield until("lock", lambda v: v == 0)
            if (yield exchange("lock", 1)) == 0:
                break
            yield RETRY
        yield from _inside(i)
        yield store("lock", 0)
    return program(*[partial(thread, i) for i in range(N)])


def ticket(N: int = 2) -> Program:
    def thread() -> Body:
        mine = yield add("next", 1)
        yield until("owner", lambda v: v == mine)
        yield from _inside(mine)
        yield store("owner", mine + 1)
    return program(*[thread] * N)


def mcs(N: int = 2) -> Program:
    def thread(me: int) -> Body:
        yield store(f"next{me}", 0)
        yield store(f"locked{me}", 1)
        before = yield exchange("tail", me)
        if before:
            yield store(f"next{before}", me)
            yield until(f"locked{me}", lambda v: v == 0)
        yield from _inside(me)
        if (yield load(f"next{me}")) == 0:
            if (yield cas("tail", me, 0)) == me:
                return
            yield until(f"next{me}", lambda v: v != 0)
        yield store(f"locked{(yield load(f'next{me}'))}", 0)
    return program(*[partial(thread, i + 1) for i in range(N)])


def spsc(N: int = 2) -> Program:
    def producer() -> Body:
        for i in range(N):
            t = yield load("tail")
            if t - (yield load("head")) < 2:
                yield store(f"slot{t & 1}", i + 1, plain=True)
                yield store("tail", t + 1)

    def consumer() -> Body:
        last = 0
        for _ in range(N):
            k = yield load("head")
            if (yield load("tail")) != k:
                v = yield load(f"slot{k & 1}", plain=True)
                assert v > last
                last = v
                yield store("head", k + 1)
    return program(producer, consumer)


def mpsc(NP: int = 2) -> Program:
    def producer(n: int) -> Body:
        yield store(f"value{n}", n, plain=True)
        yield store(f"next{n}", 0)
        before = yield exchange("head", n)
        yield store(f"next{before}", n)

    def consumer() -> Body:
        tail = 1
        for _ in range(NP):
            n = yield load(f"next{tail}")
            if n:
                assert (yield load(f"value{n}", plain=True)) == n
                tail = n
    return program(*[partial(producer, i + 2) for i in range(NP)], consumer, head=1)


def nemesis(NP: int = 2) -> Program:
    def producer(n: int) -> Body:
        yield store(f"value{n}", n, plain=True)
        yield store(f"next{n}", 0)
        before = yield exchange("tail", n)
        yield store(f"next{before}" if before else "head", n)

    def pop() -> Part:
        h = yield load("head")
        if not h:
            return 0
        n = yield load(f"next{h}")
        if n:
            yield store("head", n)
            return h
        yield store("head", 0)
        if (yield cas("tail", h, 0)) != h:
            n = yield until(f"next{h}", lambda v: v != 0)
            yield store("head", n)
        return h

    def consumer() -> Body:
        for _ in range(NP):
            h = yield from pop()
            if h:
                assert (yield load(f"value{h}", plain=True)) == h
    return program(*[partial(producer, i + 1) for i in range(NP)], consumer)


def aba() -> Program:
    def pop() -> Part:
        while True:
            o = yield load("top")
            if not o:
                return 0
            n = yield load(f"next{o}")
            if (yield cas("top", o, n)) == o:
                return o

    def push(n: int) -> Part:
        while True:
            o = yield load("top")
            yield store(f"next{n}", o)
            if (yield cas("top", o, n)) == o:
                return n

    def take(n: int) -> Part:
        return (yield add(f"own{n}", 1)) if n else 0

    def a() -> Body:
        return ((yield from take((yield from pop()))),)

    def b() -> Body:
        x = yield from pop()
        first = yield from take(x)
        second = yield from take((yield from pop()))
        if x:
            yield add(f"own{x}", -1)
            yield from push(x)
        return first, second
    return program(a, b, top=1, next1=2)
