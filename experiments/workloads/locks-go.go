// SPDX-License-Identifier: MIT

// The lock benchmark (000 §4.5, algorithm 1) on goroutines and sync.Mutex, as locks.c.
package main

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const program = "locks-go"
const about = "goroutines compute, and compute under one of some locks, for 0.2 s or --duration"
const clock = "starts a tenth of the duration after all have been started, stops when the duration is over; cpu: processor " +
	"time between the two, an iteration"
const histogram = ""
const differs = "garbage collected; preemptive; a mutex spins, and hands over after 1 ms"

func declare() {
	add(false, "locks", "int", 1, 1000000, "1", "", "one of which is taken in each turn")
	add(false, "critical", "int", 0, 1e9, "1000", "ns", "of work under a lock")
	add(false, "other", "int", 0, 1e9, "1000", "ns", "of work before; without it, as --critical")
	add(true, "fibres", "int", 1, 1e6, "16", "goroutines", "how many")
	add(true, "duration", "real", 0.001, 3600, "0.2", "s", "of a repetition")
}

type lock struct {
	mutex sync.Mutex
	turns uint64
	_     [112]byte
}

type member struct {
	turns  uint64 // atomic: it is looked at while it counts
	random uint64
	_      [112]byte
}

var (
	lockOf   []lock
	memberOf []member
	over     uint32
	perUs    float64
	sink     uint64
)

//go:noinline
func rounds(n uint64) uint64 {
	x := n
	for i := uint64(0); i < n; i++ {
		x = x*0x5851f42d4c957f2d + 1
	}
	return x
}

func work(ns int64) uint64 { return rounds(uint64(float64(ns) * perUs / 1e3)) }

// calibrateWork takes the fastest of several tries, since others can only make one slower.
func calibrateWork() {
	least := time.Duration(1 << 62)
	for i := 0; i < 25; i++ {
		begin := time.Now()
		atomic.AddUint64(&sink, rounds(20000))
		if took := time.Since(begin); took < least {
			least = took
		}
	}
	perUs = 20000 * 1e3 / float64(least.Nanoseconds())
}

func cpu() int64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return used.Utime.Nano() + used.Stime.Nano()
}

func run(m *member, critical, other int64, ended *sync.WaitGroup) {
	x := uint64(0)
	for atomic.LoadUint32(&over) == 0 {
		m.random = m.random*6364136223846793005 + 1442695040888963407
		l := &lockOf[(m.random>>33)%uint64(len(lockOf))]
		x += work(other)
		l.mutex.Lock()
		x += work(critical)
		l.turns++
		l.mutex.Unlock()
		atomic.AddUint64(&m.turns, 1)
	}
	atomic.AddUint64(&sink, x)
	ended.Done()
}

func turnsNow() (turns, least uint64) {
	least = 1 << 63
	for i := range memberOf {
		n := atomic.LoadUint64(&memberOf[i].turns)
		turns += n
		if n < least {
			least = n
		}
	}
	return
}

func repetition(rep int64, warmup bool, length time.Duration, critical, other int64) {
	atomic.StoreUint32(&over, 0)
	var ended sync.WaitGroup
	for i := range lockOf {
		lockOf[i].turns = 0
	}
	for i := range memberOf {
		memberOf[i].turns, memberOf[i].random = 0, uint64(number("seed"))*7919+uint64(i)
		ended.Add(1)
		go run(&memberOf[i], critical, other, &ended)
	}
	time.Sleep(length / 10)
	before, _ := turnsNow()
	used, begin := cpu(), time.Now()
	time.Sleep(length)
	took := time.Since(begin)
	used = cpu() - used
	after, _ := turnsNow()
	atomic.StoreUint32(&over, 1)
	ended.Wait()
	all, least := turnsNow()
	under := uint64(0)
	for i := range lockOf {
		under += lockOf[i].turns
	}
	if under != all {
		fail("locks", "turns are missing under the locks: they do not exclude")
	}
	if after == before {
		fail("locks", "no turn ended in time: a longer --duration")
		return
	}
	turns := float64(after - before)
	sample("throughput", "1/s", turns/took.Seconds(), rep, warmup)
	sample("cpu", "ns", float64(used)/turns, rep, warmup)
	sample("fairness", "1", float64(least)*float64(len(memberOf))/float64(all), rep, warmup)
}

func main() {
	parse(os.Args[1:])
	if !find("other").given {
		find("other").value = find("critical").value
	}
	runtime.GOMAXPROCS(int(number("workers")))
	calibrateWork()
	lockOf, memberOf = make([]lock, number("locks")), make([]member, number("fibres"))
	length := time.Duration(real("duration") * 1e9)
	for rep := int64(0); rep < number("warmup")+number("reps"); rep++ {
		repetition(rep, rep < number("warmup"), length, number("critical"), number("other"))
	}
	os.Exit(finish())
}
