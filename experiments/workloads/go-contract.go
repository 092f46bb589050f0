// SPDX-License-Identifier: MIT

// The contract of benchmark programs (docs/results.md) for those in Go: options and output. A program has the constants
// program, about, clock, histogram (the metric whose samples are pooled) and differs, and the function declare, which adds its
// own options.
package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/bits"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
)

type option struct {
	Name    string      `json:"name"`
	Type    string      `json:"type"`
	Range   interface{} `json:"range"`
	Items   string      `json:"items,omitempty"`
	Default interface{} `json:"default"`
	Unit    string      `json:"unit"`
	Common  bool        `json:"common"`
	Help    string      `json:"help"`
	text    string
	value   float64
	given   bool
}

var options []*option

func add(common bool, name, kind string, low, high float64, initial, unit, help string) {
	o := &option{Name: name, Type: kind, Unit: unit, Common: common, Help: help, text: initial}
	switch kind {
	case "int", "real":
		o.Range = []float64{low, high}
		o.value, _ = strconv.ParseFloat(initial, 64)
		o.Default = o.value
	case "flag":
		o.Default = false
	default:
		o.Default = initial
	}
	options = append(options, o)
}

func find(name string) *option {
	for _, o := range options {
		if o.Name == name {
			return o
		}
	}
	return nil
}

func number(name string) int64      { return int64(find(name).value) }
func real(name string) float64      { return find(name).value }
func listed(name, item string) bool { return strings.Contains(","+find(name).text+",", ","+item+",") }
func usage(format string, a ...interface{}) {
	fmt.Fprintf(os.Stderr, program+": "+format+"\n", a...)
	os.Exit(2)
}

// distance counts the letters to insert, drop or replace between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			for _, other := range []int{row[j] + 1, diagonal + 1} {
				if other < replace {
					replace = other
				}
			}
			row[j+1] = replace
		}
	}
	return row[len(b)]
}

func nearest(name string, names []string) string {
	best := names[0]
	for _, n := range names {
		if distance(name, n) < distance(name, best) {
			best = n
		}
	}
	return best
}

func assign(o *option, text string) {
	o.text, o.given = text, true
	switch o.Type {
	case "int", "real":
		span := o.Range.([]float64)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || o.Type == "int" && v != float64(int64(v)) {
			usage("--%s takes a number from %.0f to %.0f, not %q", o.Name, span[0], span[1], text)
		}
		if v < span[0] || v > span[1] {
			usage("--%s %s is out of range: %g to %.0f %s", o.Name, text, span[0], span[1], o.Unit)
		}
		o.value = v
	case "flag":
		o.value = 1
	case "list", "choice":
		if o.Type == "choice" {
			o.Items = o.Range.(string)
		}
		valid := strings.Split(o.Items, "|")
		for _, item := range strings.Split(text, ",") {
			if n := nearest(item, valid); n != item {
				usage("--%s: no %q; did you mean %s? (there are %s)", o.Name, item, n, o.Items)
			}
		}
	}
}

func parse(args []string) {
	declare()
	add(true, "workers", "int", 0, 4096, "0", "threads", "GOMAXPROCS; 0: the processors this process may use")
	add(true, "warmup", "int", 0, 1000, "1", "repetitions", "repetitions run first, kept and flagged")
	add(true, "reps", "int", 1, 100000, "5", "repetitions", "repetitions that count")
	add(true, "seed", "int", 0, 9007199254740991, "1", "", "seed of every random choice (there is none)")
	add(true, "pin", "flag", 0, 1, "", "", "pin each worker: Go cannot, exit 77")
	add(true, "counters", "choice", 0, 0, "none", "", "count around what is measured: not in Go, exit 77")
	add(true, "json", "flag", 0, 1, "", "", "one JSON object on standard output, nothing else")
	add(true, "hist", "flag", 0, 1, "", "", "include full histogram buckets")
	add(true, "list", "flag", 0, 1, "", "", "the options with type, range, default and unit, as JSON")
	add(true, "print-config", "flag", 0, 1, "", "", "what this binary is, as JSON")
	add(true, "help", "flag", 0, 1, "", "", "this text")
	find("counters").Range = "none|perf|likwid"
	var names []string
	for _, o := range options {
		names = append(names, o.Name)
	}
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "--") {
			usage("%q is no option (--help shows all)", args[i])
		}
		name, value := strings.TrimPrefix(args[i], "--"), ""
		eq := strings.IndexByte(name, '=')
		if eq >= 0 {
			name, value = name[:eq], name[eq+1:]
		}
		o := find(name)
		if o == nil {
			usage("no option --%s; did you mean --%s? (--help shows all)", name, nearest(name, names))
		}
		if o.given {
			usage("--%s is given twice", name)
		}
		if o.Type == "flag" && eq >= 0 {
			usage("--%s takes no value", name)
		}
		if o.Type != "flag" && eq < 0 {
			if i++; i == len(args) {
				usage("--%s needs a value", name)
			}
			value = args[i]
		}
		assign(o, value)
	}
	if find("workers").value == 0 {
		find("workers").value = float64(runtime.NumCPU())
	}
	switch {
	case find("help").given:
		say("%s: %s\n\nClock: %s.\n\n", program, about, clock)
		for _, o := range options {
			say("  --%-14s %s\n", o.Name, o.Help)
		}
		os.Exit(0)
	case find("list").given:
		print(map[string]interface{}{"schema": 1, "program": program, "about": about, "clock": clock,
			"options": options})
		os.Exit(0)
	case find("print-config").given:
		print(binary())
		os.Exit(0)
	case find("counters").text != "none":
		fmt.Fprintln(os.Stderr, program+": no counters around Go's threads")
		os.Exit(77)
	case find("pin").given:
		fmt.Fprintln(os.Stderr, program+": Go's workers cannot be pinned")
		os.Exit(77)
	}
}

// ---- the record ----

type measurement struct {
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Value  float64 `json:"value"`
	Rep    int64   `json:"rep"`
	Warmup bool    `json:"warmup"`
}

var (
	status   = "ok"
	message  interface{}
	samples  []measurement
	counters = map[string]int64{}
	pooled   []int64
)

func sample(metric, unit string, value float64, rep int64, warmup bool) {
	samples = append(samples, measurement{metric, unit, value, rep, warmup})
}

func count(name string, n int64) { counters[name] += n }

func fail(name, why string) {
	if status == "ok" {
		status, message = "invalid", name+": "+why
	}
}

func binary() map[string]interface{} {
	id := fnv.New64a()
	if f, err := os.Open("/proc/self/exe"); err == nil {
		io.Copy(id, f)
		f.Close()
	}
	version := strings.TrimPrefix(runtime.Version(), "go")
	return map[string]interface{}{"version": version, "runtime": "go", "scheduler": nil, "knobs": struct{}{},
		"poller": nil, "context": nil, "observe": nil, "compiler": "gc " + version,
		"id": fmt.Sprintf("%016x", id.Sum64()), "stack": "grows", "guards": "none, stacks are checked and grow",
		"differs": differs}
}

// edges gives the least and the greatest value of the HDR bucket of v (three significant figures).
func edges(v int64) [2]int64 {
	shift := bits.Len64(uint64(v)) - 11
	if shift < 0 {
		shift = 0
	}
	low := v >> uint(shift) << uint(shift)
	return [2]int64{low, low + 1<<uint(shift) - 1}
}

func buckets() [][3]int64 {
	counts := map[[2]int64]int64{}
	for _, v := range pooled {
		counts[edges(v)]++
	}
	var out [][3]int64
	for e, n := range counts {
		out = append(out, [3]int64{e[0], e[1], n})
	}
	sort.Slice(out, func(a, b int) bool { return out[a][0] < out[b][0] })
	return out
}

// say prints, or ends with a line: a full disk must not look like a result.
func say(format string, args ...interface{}) {
	if _, err := fmt.Printf(format, args...); err != nil {
		fmt.Fprintln(os.Stderr, program+":", err)
		os.Exit(99)
	}
}

func print(v interface{}) {
	text, err := json.Marshal(v)
	if err != nil {
		fmt.Fprintln(os.Stderr, program+":", err)
		os.Exit(99)
	}
	say("%s\n", text)
}

func table() {
	say("%s: %s, %d workers\n", program, status, number("workers"))
	told := map[string]bool{}
	for _, first := range samples {
		name, unit, values := first.Metric, first.Unit, []float64{}
		for _, s := range samples {
			if s.Metric == name && !s.Warmup {
				values = append(values, s.Value)
			}
		}
		if told[name] || len(values) == 0 {
			continue
		}
		told[name] = true
		sort.Float64s(values)
		n := len(values)
		say("  %-24s %13.6g %13.6g %13.6g  %s  %d\n", name, (values[(n-1)/2]+values[n/2])/2, values[0],
			values[n-1], unit, n)
	}
}

func finish() int {
	if find("json").given {
		params, hist := map[string]interface{}{}, map[string]interface{}{}
		for _, o := range options {
			switch {
			case o.Type == "list", o.Type == "choice", o.Type == "text":
				params[o.Name] = o.text
			case o.Type != "flag" && o.Name != "seed":
				params[o.Name] = o.value
			}
		}
		params["pin"] = false
		if find("hist").given && len(pooled) > 0 {
			hist[histogram] = map[string]interface{}{"unit": "ns", "buckets": buckets()}
		}
		print(map[string]interface{}{"schema": 1, "program": program, "status": status, "message": message,
			"clock": clock, "load": "closed", "binary": binary(), "params": params, "seed": number("seed"),
			"samples": samples, "hist": hist, "counters": counters})
	} else {
		table()
		if message != nil {
			say("  %v\n", message)
		}
	}
	if status != "ok" {
		return 1
	}
	return 0
}
