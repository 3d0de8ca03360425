package profile

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func checkDiff(t *testing.T, d *Diff, want map[string][2]int64) {
	t.Helper()
	pairs := map[string][]int64{}
	for name, v := range want {
		pairs[name] = []int64{v[0], v[1]}
	}
	joined := d.Join()
	if !joined.IsDiff() {
		t.Errorf("joined types %v are no difference", joined.Types)
	}
	checkStacks(t, joined, pairs)
}

func TestCompare(t *testing.T) {
	newer, older := map[string]int64{"ma": 30, "mb": 10}, map[string]int64{"ma": 5, "mc": 15}
	for _, tt := range []struct {
		name                     string
		newSeconds, olderSeconds int
		absolute                 bool
		scale                    float64
		want                     map[string][2]int64 // older, newer
	}{
		{"absolute", 10, 20, true, 1, map[string][2]int64{" m a": {5, 30}, " m b": {0, 10}, " m c": {15, 0}}},
		{"scaled to the newer's time", 20, 10, false, 2, map[string][2]int64{" m a": {10, 30}, " m b": {0, 10},
			" m c": {30, 0}}},
		{"time not known: scaled to the totals", 0, 10, false, 2, map[string][2]int64{" m a": {10, 30}, " m b": {0, 10},
			" m c": {30, 0}}},
	} {
		n, o := stacked(newer, letters), stacked(older, letters)
		n.Duration, o.Duration = time.Duration(tt.newSeconds)*time.Second, time.Duration(tt.olderSeconds)*time.Second
		d, err := Compare(n, o, DiffOptions{Absolute: tt.absolute})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if !slices.Equal(d.Scale, []float64{tt.scale}) {
			t.Errorf("%s: scale %v, want %v", tt.name, d.Scale, tt.scale)
		}
		checkDiff(t, d, tt.want)
	}
}

// A thousand stacks of 1 at a scale of 0.4 are 400, not 0.
func TestCompareCarriesWhatIsRounded(t *testing.T) {
	var names []string
	many := map[string]int64{}
	for i := range 1000 {
		names = append(names, "f"+strings.Repeat("x", i))
		many[names[i]] = 1
	}
	o := stacked(many, func(s string) []string { return []string{s} })
	n := stacked(map[string]int64{"m": 1}, letters)
	n.Duration, o.Duration = 4*time.Second, 10*time.Second
	d, err := Compare(n, o, DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, v := range d.Old {
		if v < 0 || v > 1 {
			t.Fatalf("a value of 1 became %d", v)
		}
		sum += v
	}
	if sum != 400 {
		t.Errorf("sum %d, want 400", sum)
	}
}

// Two runs have neither addresses nor thread ids in common.
func TestCompareGoesByNames(t *testing.T) {
	run := func(base uint64, tid int, line int) *Profile {
		b := NewBuilder(SamplesCount, WallTime)
		b.Profile().Default = 1
		b.Profile().Modules = []Module{{Path: "/bin/app", Base: base}}
		n := b.Child(0, b.Frame(Frame{Func: "f", Module: 0, Addr: base + 9, ModuleAddr: 9, Line: line}))
		n = b.Child(n, b.Frame(Frame{Module: 0, Addr: base + 0x20, ModuleAddr: 0x20}))
		b.Add(n, b.Task(Task{PID: tid, TID: tid, Process: "app", Thread: "main"}), 1, 10)
		return b.Profile()
	}
	d, err := Compare(run(0x1000, 1, 5), run(0x2000, 2, 6), DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d.New.Default != 1 || len(d.New.Samples) != 1 {
		t.Fatalf("default %d, samples %v, want 1 and one sample", d.New.Default, d.New.Samples)
	}
	if got := d.Join().Value(0); !slices.Equal(got, []int64{1, 1, 10, 10}) {
		t.Errorf("values %v, want [1 1 10 10]", got)
	}
	checkStacks(t, d.New, map[string][]int64{" f app+0x20 @main": {1, 10}})
}

func TestCompareOfWhatIsDifferent(t *testing.T) {
	heap := stacked(map[string]int64{"m": 1}, letters)
	heap.Types = []ValueType{{"inuse_space", "bytes"}}
	_, err := Compare(stacked(map[string]int64{"m": 1}, letters), heap, DiffOptions{})
	want := "compare profiles: no value in common: samples/count and inuse_space/bytes"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestSplitUndoesJoin(t *testing.T) {
	d, err := Compare(stacked(map[string]int64{"ma": 3}, letters), stacked(map[string]int64{"mb": 3}, letters),
		DiffOptions{Absolute: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Split(d.Join())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, d) {
		t.Errorf("got %+v, want %+v", got, d)
	}
	if _, err := Split(d.New); err == nil {
		t.Error("a profile that is no difference was split")
	}
	for name, types := range map[string][]ValueType{
		"none":         {},
		"one":          {SamplesCount},
		"two others":   {SamplesCount, WallTime},
		"another unit": {{"before wall", "count"}, WallTime},
		"odd number":   {{"before wall", "nanoseconds"}, WallTime, SamplesCount},
		"wrong order":  {WallTime, {"before wall", "nanoseconds"}},
	} {
		if (&Profile{Types: types}).IsDiff() {
			t.Errorf("%s: taken for a difference", name)
		}
	}
}

// TestCompareIsByFunction: two builds in two folders have their functions in common; a wait and the function of its
// name are two.
func TestCompareIsByFunction(t *testing.T) {
	build := func(folder string, line int) *Profile {
		b := NewBuilder(SamplesCount)
		b.Profile().Modules = []Module{{Path: folder + "/prog", BuildID: folder}}
		main := b.Child(0, b.Frame(Frame{Func: "main", Module: 0, Addr: uint64(line), ModuleAddr: uint64(line),
			File: folder + "/main.c", Line: line}))
		poll := b.Child(main, b.Frame(Frame{Func: "poll", Module: 0}))
		b.Add(poll, -1, 10)
		b.Add(b.Child(poll, b.Frame(Frame{Func: "poll", Kind: Kernel, Module: -1})), -1, 90)
		return b.Profile()
	}
	d, err := Compare(build("/new", 12), build("/old", 10), DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changes := d.Changes(0)
	if d.New.Tree.Len() != 4 || len(changes) != 3 {
		t.Errorf("%d stacks, changes %+v, want 4 with the empty one, and three functions", d.New.Tree.Len(), changes)
	}
	for _, c := range changes {
		if c.Self != c.SelfBefore || c.Total != c.TotalBefore || !c.TotalNoise {
			t.Errorf("%v changed: %+v", c.Function, c)
		}
	}
}
