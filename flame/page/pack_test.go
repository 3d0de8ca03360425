package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

func gunzip(t *testing.T, block string) []byte {
	t.Helper()
	zip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(block)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// decoded is what a reader of the packed data finds, written from the comment of pack alone.
type decoded struct {
	head  head
	names []string
	kinds []byte
	stack []string // by node: names from the root, joined by ';'
	grey  map[int]int
	self  map[string][]int64 // by "task/old/stack"
	runs  []string
}

func decode(t *testing.T, document string) *decoded {
	t.Helper()
	m := regexp.MustCompile(`id="data">([^<]*)<`).FindStringSubmatch(document)
	if m == nil {
		t.Fatal("no data in the document")
	}
	r := bytes.NewReader(gunzip(t, m[1]))
	num := func() int {
		v, err := binary.ReadUvarint(r)
		if err != nil {
			t.Fatal(err)
		}
		return int(v)
	}
	read := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(r, b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	texts := func(n int) []string {
		out, last := []string{}, ""
		for range n {
			shared, rest := num(), num()
			last = last[:shared] + string(read(rest))
			out = append(out, last)
		}
		return out
	}
	d := &decoded{grey: map[int]int{}, self: map[string][]int64{}}
	if err := json.Unmarshal(read(num()), &d.head); err != nil {
		t.Fatal(err)
	}
	texts(num())
	texts(num())
	d.names = texts(d.head.Frames)
	d.kinds = read(d.head.Frames)
	for range 4 * d.head.Frames {
		num()
	}
	type level struct {
		left int
		name string
	}
	var open []level
	for range d.head.Nodes {
		for len(open) > 0 && open[len(open)-1].left == 0 {
			open = open[:len(open)-1]
		}
		name := d.names[num()]
		if n := len(d.stack); n == 1 {
			open[0].left--
		} else if n > 1 {
			open[len(open)-1].left--
			name = open[len(open)-1].name + ";" + name
			name = strings.TrimPrefix(name, ";")
		}
		if len(d.stack) == 0 {
			name = ""
		}
		d.stack = append(d.stack, name)
		open = append(open, level{num(), name})
	}
	node := 0
	for range num() {
		node += num()
		d.grey[node] = num()
	}
	for range d.head.Lists {
		task, old, size := num()-1, num(), num()
		nodes := make([]int, size)
		at := 0
		for i := range nodes {
			at += num()
			nodes[i] = at
		}
		for range d.head.Types {
			for _, n := range nodes {
				key := fmt.Sprintf("%d/%d/%s", task, old, d.stack[n])
				d.self[key] = append(d.self[key], int64(num()))
			}
		}
	}
	task, end := -1, 0
	for range d.head.Runs {
		if step := num(); step > 0 {
			task, end = task+step, 0
		}
		stack := d.stack[num()]
		from := end + num()
		end = from + num()
		d.runs = append(d.runs, fmt.Sprintf("%d %s %d-%d", task, stack, from, end))
	}
	if r.Len() != 0 {
		t.Errorf("%d bytes behind the end", r.Len())
	}
	return d
}

func TestPackedSumsAreTheProfiles(t *testing.T) {
	p := generated(3000)
	d := decode(t, written(t, HTML, p, Options{Type: 1}))
	// The functions of one stack of p, by hand: what the page calls its frames.
	name := func(f *profile.Frame) string {
		switch {
		case f.Func != "":
			return f.Func
		case f.Module >= 0:
			return p.Modules[f.Module].Path[strings.LastIndexByte(p.Modules[f.Module].Path, '/')+1:] +
				fmt.Sprintf("+%#x", f.ModuleAddr)
		}
		return fmt.Sprintf("%#x", f.Addr)
	}
	want := map[string][]int64{}
	for i, s := range p.Samples {
		var names []string
		for _, f := range p.Tree.Append(nil, s.Stack) {
			names = append(names, name(&p.Frames[f]))
		}
		slices.Reverse(names)
		key := fmt.Sprintf("%d/0/%s", s.Task, strings.Join(names, ";"))
		if want[key] == nil {
			want[key] = make([]int64, len(p.Types))
		}
		for k, v := range p.Value(i) {
			want[key][k] += v
		}
	}
	got := map[string][]int64{}
	for key, v := range d.self {
		// A wait and the function of its name are two nodes.
		for ; len(v) > 0; v = v[len(p.Types):] {
			if got[key] == nil {
				got[key] = make([]int64, len(p.Types))
			}
			for k := range p.Types {
				got[key][k] += v[k]
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d stacks with values, want %d", len(got), len(want))
	}
	for key, w := range want {
		if !slices.Equal(got[key], w) {
			t.Fatalf("%s has %v, want %v", key, got[key], w)
		}
	}
}

func TestThreadsStandAtTheRoot(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount)
	b.Profile().Modules = []profile.Module{{Path: "/bin/prog"}}
	main := b.Child(0, b.Frame(fn("main")))
	b.Add(main, b.Task(profile.Task{PID: 1, TID: 1, Process: "p", Thread: "t"}), 3)
	b.Add(main, b.Task(profile.Task{PID: 1, TID: 2, Process: "p", Thread: "u"}), 4)
	b.Add(main, -1, 5)
	d := decode(t, written(t, HTML, b.Profile(), Options{Threads: true}))
	want := map[string][]int64{"0/0/p 1;t 1;main": {3}, "1/0/p 1;u 2;main": {4}, "-1/0/main": {5}}
	if fmt.Sprint(d.self) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", d.self, want)
	}
}

func TestFunctionsAreOneFrameWhereverTheyWereInterrupted(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount)
	b.Profile().Modules = []profile.Module{{Path: "/bin/prog"}}
	for i, line := range []int{30, 10, 0, 20} {
		f := fn("main")
		f.Addr, f.Line = uint64(0x1000+i), line
		b.Add(b.Child(0, b.Frame(f)), -1, 1)
	}
	svg := written(t, SVG, b.Profile(), Options{})
	if d := decode(t, svg); d.head.Nodes != 2 || !slices.Equal(d.self["-1/0/main"], []int64{4}) {
		t.Errorf("%d nodes, %v in main, want 2 and 4", d.head.Nodes, d.self)
	}
	if !strings.Contains(svg, "main (main.c:10–30): 4, 100.00 %") {
		t.Error("the lines 10–30 that were seen are not in the title")
	}
}

func TestDifference(t *testing.T) {
	now := stacks(profile.SamplesCount, "main;a 60", "main;b 40")
	before := stacks(profile.SamplesCount, "main;a 10", "main;gone 40")
	// Another build in another folder: its functions are the same.
	before.Modules[0].Path = "/home/old/prog"
	for i := range before.Frames {
		before.Frames[i].File, before.Frames[i].Line = "/home/old/src/x.c", 99
	}
	d := decode(t, written(t, HTML, nil, Options{Diff: compared(now, before)}))
	want := map[string][]int64{"-1/0/main;a": {60}, "-1/0/main;b": {40}, "-1/1/main;a": {20}, "-1/1/main;gone": {80}}
	if fmt.Sprint(d.self) != fmt.Sprint(want) || d.head.Nodes != 5 {
		t.Errorf("got %v in %d nodes, want %v in 5", d.self, d.head.Nodes, want)
	}
	if got := d.head.Types[0]; got.Total != 100 || got.Old != 100 || *got.Grain != [2]float64{1, 2} || !d.head.Diff {
		t.Errorf("total %d, old %d, grain %v, diff %v, want 100, 100, 1 and 2, true", got.Total, got.Old, *got.Grain,
			d.head.Diff)
	}
}

func TestNegativeValuesAreTheOlderSide(t *testing.T) {
	d := decode(t, written(t, HTML, stacks(profile.SamplesCount, "main;less -30", "main;more 20"), Options{}))
	want := map[string][]int64{"-1/1/main;less": {30}, "-1/0/main;more": {20}}
	if fmt.Sprint(d.self) != fmt.Sprint(want) || !d.head.Diff {
		t.Errorf("got %v, diff %v, want %v, true", d.self, d.head.Diff, want)
	}
}

// What ended in a function of the kernel did not wait.
func TestSmallKernelFramesDoNotWait(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount)
	b.Profile().Modules = []profile.Module{{Path: "[kernel.kallsyms]"}}
	main := b.Child(0, b.Frame(fn("main")))
	b.Add(main, -1, 90)
	b.Add(b.Child(main, b.Frame(profile.Frame{Func: "vfs_read", Kind: profile.Kernel, Module: 0})), -1, 7)
	b.Add(b.Child(main, b.Frame(profile.Frame{Func: "read", Kind: profile.Kernel, Module: -1})), -1, 3)
	d := decode(t, written(t, HTML, b.Profile(), Options{MinShare: 0.1}))
	want := map[string][]int64{"-1/0/main": {90}, "-1/0/main;(smaller)": {7}, "-1/0/main;(smaller, waiting)": {3}}
	if fmt.Sprint(d.self) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", d.self, want)
	}
}

func TestSmallFramesBecomeGreyOnes(t *testing.T) {
	p := stacks(profile.SamplesCount, "main;big 970", "main;s1;s2 7", "main;s3 3", "main;s4;[read] 8", "main;big;s5 12")
	d := decode(t, written(t, HTML, p, Options{MinShare: 0.015}))
	want := map[string][]int64{"-1/0/main;big": {970}, "-1/0/main;(smaller)": {10}, "-1/0/main;(smaller, waiting)": {8},
		"-1/0/main;big;(smaller)": {12}}
	if fmt.Sprint(d.self) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", d.self, want)
	}
	stands := map[string]int{}
	for n, count := range d.grey {
		stands[d.stack[n]] = count
	}
	// s1, s2, s3 and s4; the read below s4; s5.
	counts := map[string]int{"main;(smaller)": 4, "main;(smaller, waiting)": 1, "main;big;(smaller)": 1}
	if fmt.Sprint(stands) != fmt.Sprint(counts) {
		t.Errorf("grey frames stand for %v, want %v", stands, counts)
	}
	if d.head.Smaller != 6 {
		t.Errorf("%d frames left out, want 6", d.head.Smaller)
	}
}

func TestTheLargestFramesAreKept(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: 600,000 frames take seconds under the race detector")
	}
	b := profile.NewBuilder(profile.SamplesCount)
	b.Profile().Modules = []profile.Module{{Path: "/bin/prog"}}
	main := b.Child(0, b.Frame(fn("main")))
	const n = 600_000
	for i := range n {
		b.Add(b.Child(main, b.Frame(profile.Frame{Func: fmt.Sprintf("f%06d", i), Module: -1})), -1, int64(1+i%3))
	}
	var told []string
	opt := Options{Warn: func(s string) { told = append(told, s) }}
	d := decode(t, written(t, HTML, b.Profile(), opt))
	// main, 200,000 of weight 3, 200,000 of weight 2, and 99,999 of weight 1.
	if kept := d.head.Nodes - 2; kept != maxFrames || d.head.Smaller != n+1-maxFrames {
		t.Errorf("%d kept, %d left out, want %d and %d", kept, d.head.Smaller, maxFrames, n+1-maxFrames)
	}
	if got := d.self["-1/0/main;(smaller)"]; !slices.Equal(got, []int64{100_001}) {
		t.Errorf("the grey frame holds %v, want 100001", got)
	}
	if len(told) != 1 || !strings.Contains(told[0], "100,001 frames") {
		t.Errorf("told %q, want one sentence with the number", told)
	}
	if d := decode(t, written(t, HTML, b.Profile(), Options{All: true})); d.head.Nodes != n+2 || d.head.Smaller != 0 {
		t.Errorf("with All %d nodes, %d left out, want %d and 0", d.head.Nodes, d.head.Smaller, n+2)
	}
}

func TestRuns(t *testing.T) {
	p := stacks(profile.WallTime, "main;a 5", "main;b 5")
	p.Tasks = []profile.Task{{TID: 1}, {TID: 2}}
	a, b := p.Samples[0].Stack, p.Samples[1].Stack
	p.Runs = []profile.Run{{Task: 1, Stack: b, At: 4, For: 2}, {Task: 0, Stack: a, At: 0, For: 3},
		{Task: 0, Stack: b, At: 5, For: 1}}
	d := decode(t, written(t, HTML, p, Options{}))
	if want := []string{"0 main;a 0-3", "0 main;b 5-6", "1 main;b 4-6"}; !slices.Equal(d.runs, want) {
		t.Errorf("got %q, want %q", d.runs, want)
	}
}
