// SPDX-License-Identifier: MIT

// Micro benchmarks on Go: the cases of micro.c, with goroutines in the place of fibres. --workers is GOMAXPROCS.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

var workers, depth int

func perOp(begin time.Time, ops int64) float64 {
	return float64(time.Since(begin).Nanoseconds()) / float64(ops)
}

func nullYield(ops int64) float64 {
	begin := time.Now()
	for i := int64(0); i < ops; i++ {
		runtime.Gosched()
	}
	return perOp(begin, ops)
}

func yieldAmong(name string, count, ops int64) float64 {
	var yields int64
	var all sync.WaitGroup
	each := ops / count
	all.Add(int(count))
	begin := time.Now()
	for i := int64(0); i < count; i++ {
		go func() {
			for k := int64(0); k < each; k++ {
				runtime.Gosched()
			}
			atomic.AddInt64(&yields, each)
			all.Done()
		}()
	}
	all.Wait()
	ns := perOp(begin, ops)
	if yields != ops {
		fail(name, "yields are missing")
	}
	return ns
}

func spawnJoin(ops int64) float64 {
	var sum int64
	done := make(chan int64)
	begin := time.Now()
	for i := int64(0); i < ops; i++ {
		go func() { done <- 1 }()
		sum += <-done
	}
	ns := perOp(begin, ops)
	if sum != ops {
		fail("spawn_join", "joined values do not add up")
	}
	return ns
}

func spawnJoin100(ops int64) float64 {
	var sum int64
	var value [100]int64
	var all sync.WaitGroup
	begin := time.Now()
	for i := int64(0); i < ops; i += 100 {
		all.Add(100)
		for k := 0; k < 100; k++ {
			k := k
			go func() {
				value[k] = int64(k) + 1
				all.Done()
			}()
		}
		all.Wait()
		for k := 0; k < 100; k++ {
			sum += value[k]
		}
	}
	ns := perOp(begin, ops)
	if sum != ops/100*5050 {
		fail("spawn_join_100", "joined values do not add up")
	}
	return ns
}

func pingPong(ops int64) float64 {
	there, back := make(chan int64), make(chan int64)
	go func() {
		for i := int64(0); i < ops; i++ {
			back <- <-there
		}
	}()
	begin := time.Now()
	for i := int64(0); i < ops; i++ {
		there <- i
		if <-back != i {
			fail("ping_pong", "a ball was lost")
		}
	}
	return perOp(begin, ops)
}

func pass(name string, ops int64, places int, selects bool) float64 {
	items, never := make(chan int64, places), make(chan int64)
	var sum int64
	begin := time.Now()
	go func() {
		for i := int64(1); i <= ops; i++ {
			items <- i
		}
	}()
	for i := int64(0); i < ops; i++ {
		if selects {
			select {
			case item := <-items:
				sum += item
			case item := <-never:
				sum += item
			}
		} else {
			sum += <-items
		}
	}
	ns := perOp(begin, ops)
	if sum != ops*(ops+1)/2 {
		fail(name, "items are missing")
	}
	return ns
}

func node(depth int) int64 {
	if depth == 0 {
		return 1
	}
	left, right := make(chan int64, 1), make(chan int64, 1)
	go func() { left <- node(depth - 1) }()
	go func() { right <- node(depth - 1) }()
	return 1 + <-left + <-right
}

func forkJoin(ops int64) float64 {
	nodes := int64(2)<<uint(depth) - 1
	begin := time.Now()
	for i := int64(0); i < ops; i++ {
		if node(depth) != nodes {
			fail("fork_join", "nodes are missing")
		}
	}
	return perOp(begin, ops*nodes)
}

var latencies []int64

// hog keeps its worker busy for about ns nanoseconds.
func hog(ns int64) {
	for begin := time.Now(); time.Since(begin).Nanoseconds() < ns; {
	}
}

func reached(word *int64, value int64, why string) {
	begin := time.Now()
	for atomic.LoadInt64(word) != value {
		if time.Since(begin) > 2*time.Second {
			fail("wake_2w", why)
			for atomic.LoadInt64(word) != value {
				runtime.Gosched()
			}
		}
	}
}

func mutexAlone(ops int64) float64 {
	var lock sync.Mutex
	begin := time.Now()
	for i := int64(0); i < ops; i++ {
		lock.Lock()
		lock.Unlock()
	}
	return float64(time.Since(begin).Nanoseconds()) / float64(ops)
}

func through(name string, ops int64, yields bool) float64 {
	var lock sync.Mutex
	var ended sync.WaitGroup
	turns := int64(0)
	ended.Add(2)
	begin := time.Now()
	for k := 0; k < 2; k++ {
		go func() {
			for i := int64(0); i < ops/2; i++ {
				lock.Lock()
				if yields {
					runtime.Gosched()
				}
				turns++
				lock.Unlock()
			}
			ended.Done()
		}()
	}
	ended.Wait()
	ns := float64(time.Since(begin).Nanoseconds()) / float64(ops)
	if turns != ops {
		fail(name, "turns are missing")
	}
	return ns
}

func wake2w(ops int64) float64 {
	var armed, up int64
	var upAt time.Time
	wake := make(chan struct{}, 1)
	go func() {
		for i := int64(1); i <= ops; i++ {
			atomic.StoreInt64(&armed, i)
			<-wake
			upAt = time.Now()
			atomic.StoreInt64(&up, i)
		}
	}()
	first := len(latencies)
	for i := int64(1); i <= ops; i++ {
		reached(&armed, i, "no other worker took the sleeper")
		hog(20000)
		begin := time.Now()
		wake <- struct{}{}
		reached(&up, i, "no other worker ran the woken goroutine")
		latencies = append(latencies, upAt.Sub(begin).Nanoseconds())
	}
	these := append([]int64(nil), latencies[first:]...)
	sort.Slice(these, func(a, b int) bool { return these[a] < these[b] })
	return float64(these[(len(these)-1)/2])
}

type microCase struct {
	name, help string
	workers    int
	multiple   int64
	run        func(int64) float64
}

var cases = []microCase{
	{"null_yield", "yield of the only goroutine", 1, 1, nullYield},
	{"yield_2", "yield among two goroutines", 1, 2,
		func(ops int64) float64 { return yieldAmong("yield_2", 2, ops) }},
	{"yield_1000", "yield among a thousand goroutines", 1, 100000,
		func(ops int64) float64 { return yieldAmong("yield_1000", 1000, ops) }},
	{"spawn_join", "start a goroutine, wait for it (channel)", 1, 1, spawnJoin},
	{"spawn_join_100", "start a hundred goroutines, wait for them (WaitGroup); for each", 1, 100, spawnJoin100},
	{"ping_pong", "two goroutines wake each other (channels); a round trip", 1, 1, pingPong},
	{"channel", "one goroutine sends to another, from hand to hand; for each item", 1, 1,
		func(ops int64) float64 { return pass("channel", ops, 0, false) }},
	{"mutex", "take a free mutex, give it back", 1, 1, mutexAlone},
	{"mutex_2w", "two goroutines on two threads go through one mutex; for each time", 2, 2,
		func(ops int64) float64 { return through("mutex_2w", ops, false) }},
	{"mutex_pass", "two goroutines go through one mutex, and yield with it; for each time", 1, 2,
		func(ops int64) float64 { return through("mutex_pass", ops, true) }},
	{"channel_16", "one goroutine sends to another, through 16 places; for each item", 1, 1,
		func(ops int64) float64 { return pass("channel_16", ops, 16, false) }},
	{"select_16", "the same, received by a select of two channels", 1, 1,
		func(ops int64) float64 { return pass("select_16", ops, 16, true) }},
	{"fork_join", "binary tree of goroutines; for each node", 1, 1, forkJoin},
	{"wake_2w", "wake a goroutine that another worker has to run", 2, 1, wake2w},
}

// calibrate finds how many operations take about ms milliseconds.
func calibrate(c microCase, ms float64) int64 {
	c.run(c.multiple)
	for ops := c.multiple; ; ops *= 2 {
		begin := time.Now()
		c.run(ops)
		took := float64(time.Since(begin).Nanoseconds())
		if took < ms*1e6/4 && ops < 1<<40 {
			continue
		}
		scaled := int64(float64(ops/c.multiple) * ms * 1e6 / took)
		if scaled < 1 {
			scaled = 1
		}
		return scaled * c.multiple
	}
}

func measure(c microCase, warmup, reps int64, ms float64) {
	ops := calibrate(c, ms)
	count(c.name+"_ops", ops)
	latencies = latencies[:0]
	for rep := int64(0); rep < warmup+reps && status == "ok"; rep++ {
		value := c.run(ops)
		sample(c.name, "ns", value, rep, rep < warmup)
		if len(latencies) > 0 {
			if rep >= warmup {
				pooled = append(pooled, latencies...)
			}
			latencies = latencies[:0]
		}
	}
}

const program = "micro-go"
const about = "single operations of goroutines"
const clock = "starts just before the first of a repetition's operations, stops after the last; wake_2w is the median of " +
	"single latencies, from just before the wake-up to the first instruction of the woken"
const histogram = "wake_2w"
const differs = "garbage collected; preemptive; join is a channel or a WaitGroup"

func declare() {
	add(false, "case", "list", 0, 0, "all", "", "cases to run; runtime is a group")
	add(false, "ms", "real", 0.01, 10000, "40", "ms", "about how long a repetition of a case takes")
	add(false, "depth", "int", 1, 24, "16", "levels", "of the tree of fork_join, below its root")
	find("case").Items = "all|runtime|neighbours"
	for _, c := range cases {
		find("case").Items += "|" + c.name
	}
}

func main() {
	parse(os.Args[1:])
	debug.SetGCPercent(100)
	workers, depth = int(number("workers")), int(number("depth"))
	runtime.GOMAXPROCS(workers)
	measured := 0
	for _, c := range cases {
		if status != "ok" || !listed("case", "all") && !listed("case", "runtime") && !listed("case", c.name) {
			continue
		}
		if c.workers > workers {
			continue
		}
		measure(c, number("warmup"), number("reps"), real("ms"))
		measured++
	}
	if measured == 0 {
		fmt.Fprintf(os.Stderr, "micro-go: none of these cases can be run with %d workers\n", workers)
		os.Exit(77)
	}
	os.Exit(finish())
}
