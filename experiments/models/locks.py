# SPDX-License-Identifier: MIT
"""What locks cost at best: threads that work, take one of several locks at random, work, give it back.

Three answers for that loop, which is algorithm 1 of the 000 text (section 4.5): the probabilistic
model of its section 6.1, mean value analysis (section 6.2), and the loop itself, played event by
event. Numbers of equations are those of its chapter 6. All times are in one unit, whichever;
throughput is iterations of all threads together in that unit. docs/locks.md says what is left out.
"""
from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass
from typing import Callable

#: Durations of the work loops, for `play`: as the benchmark has them, and as mean value analysis supposes them.
LOOPS = ("constant", "exponential")


@dataclass(frozen=True)
class Loop:
    """One iteration: `other` without a lock, then `critical` with one of `locks`, each as likely as any other."""

    locks: int          # L
    critical: float     # t_cs
    other: float        # t_ncs

    def __post_init__(self) -> None:
        if self.locks < 1:
            raise ValueError(f"{self.locks} locks: at least 1")
        if not (math.isfinite(self.critical) and self.critical > 0):
            raise ValueError(f"a critical section of {self.critical:g}: it has to take some time, and end")
        if not (math.isfinite(self.other) and self.other >= 0):
            raise ValueError(f"{self.other:g} outside the critical section: 0 or more, and it has to end")

    @property
    def alone(self) -> float:
        """An iteration of a thread that nobody is in the way of; 1/R(1)."""
        return self.critical + self.other


def _check(threads: int) -> None:
    if threads < 1:
        raise ValueError(f"{threads} threads: at least 1")


# -- section 6.1 ----------------------------------------------------------------------------------

def section_probability(critical: float, other: float) -> float:
    """P_cs (6.2): that a thread which runs what is parallel is in a critical section."""
    return critical / (other + critical)


def contention_probability(locks: int, threads: int) -> float:
    """P_ctn (6.4): that two critical sections want the same lock; one thread alone has nobody to contend with."""
    return 0.0 if threads == 1 else 1 / locks


def program_time(sequential: float, critical: float, other: float, in_section: float, contended: float,
                 threads: int) -> float:
    """(6.1) where the first three are fractions of the sequential run, (6.3) where they are times.

    The greater of two estimates. The first is the mean thread's: it waits where it is in a section
    *and* that is contended; all else is shared out among the threads. The second is the slowest
    thread's: all contended sections one after another, and half of its share of what is left, since
    it may come to contend anywhere in that. (The text gives the equation and not its reasons, for
    which it cites Eyerman and Eeckhout: these are our reading.)"""
    _check(threads)
    collide = in_section * contended
    mean = critical * collide + (critical * (1 - collide) + other) / threads
    slowest = critical * contended + (critical * (1 - contended) + other) / (2 * threads)
    return sequential + max(mean, slowest)


def time(loop: Loop, threads: int) -> float:
    """Time(T): (6.3) with (6.2) and (6.4).

    That is (6.5), which has 1/L for P_ctn whatever T: with one thread its first term is the greater,
    in which that cancels. The text calls Time(T) that of an iteration "by each thread"; it is the
    time for each iteration of the *program*, to which all threads contribute, or else (6.6) would
    need a factor T, and (6.7) would grow with it."""
    _check(threads)
    return program_time(0.0, loop.critical, loop.other, section_probability(loop.critical, loop.other),
                        contention_probability(loop.locks, threads), threads)


def throughput(loop: Loop, threads: int) -> float:
    """R(T) (6.6)."""
    return 1 / time(loop, threads)


def throughput_limit(loop: Loop) -> float:
    """R for ever more threads (6.7): every lock is always held. The second term of (6.5) decides,
    since P_cs is at most 1."""
    return loop.locks / loop.critical


def utilisation(loop: Loop, rate: float) -> float:
    """U (6.8): throughput in those of one thread alone, which is how many threads work rather than wait."""
    return rate * loop.alone


def utilisation_limit(loop: Loop) -> float:
    """U for ever more threads (6.9); 32 for 16 locks and sections as long as what lies between them (6.10)."""
    return utilisation(loop, throughput_limit(loop))


# -- section 6.2 ----------------------------------------------------------------------------------

@dataclass(frozen=True)
class Queues:
    """The closed network in its steady state."""

    throughput: float
    response: float     # from asking for a lock to giving it back
    queue: float        # threads at each lock, the one that holds it included

    def wait(self, loop: Loop) -> float:
        """Before the lock is had."""
        return self.response - loop.critical


def mva(loop: Loop, threads: int) -> Queues:
    """Exact mean value analysis of `threads` customers, a delay centre and `locks` equal servers, as
    in figure 6.1.

    A customer that comes to a server finds what is there on average without itself. So the network
    with n of them follows from that with n - 1; a lock is visited in every L-th iteration. Exact
    where the critical sections are exponentially distributed, whatever lies between them."""
    _check(threads)
    found = Queues(0.0, 0.0, 0.0)
    for n in range(1, threads + 1):
        response = loop.critical * (1 + found.queue)
        rate = n / (loop.other + response)
        found = Queues(rate, response, rate / loop.locks * response)
    return found


# -- section 4.5 ----------------------------------------------------------------------------------

def play(loop: Loop, threads: int, iterations: int, seed: int, loops: str = "constant") -> float:
    """Throughput of algorithm 1 itself, played for so many iterations; a first fifth is not counted.

    Every thread has a core; locks are handed over in the order of arrival, and cost nothing. The
    same arguments give the same answer. Threads are taken in the order in which they come to a
    lock, so that when each gets it is known at once."""
    _check(threads)
    if loops not in LOOPS:
        raise ValueError(f"work loops '{loops}': {' or '.join(LOOPS)}")
    if iterations < 10 * threads:
        raise ValueError(f"{iterations} iterations of {threads} threads: at least 10 for each")
    rng = random.Random(seed)
    lasts: Callable[[float], float] = (lambda mean: mean) if loops == "constant" else (
        lambda mean: mean * rng.expovariate(1.0))
    free: dict[int, float] = {}                         # when each lock that was had is free again
    coming = [rng.random() * loop.alone for _ in range(threads)]    # not all at once, as no real threads do
    heapq.heapify(coming)
    first, begin = iterations // 5, 0.0
    for turn in range(iterations + 1):
        at = coming[0]
        if turn == first:
            begin = at
        lock = rng.randrange(loop.locks)
        free[lock] = max(at, free.get(lock, 0.0)) + lasts(loop.critical)
        heapq.heapreplace(coming, free[lock] + lasts(loop.other))
    return (iterations - first) / (at - begin)
