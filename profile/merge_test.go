package profile

import (
	"slices"
	"testing"
	"time"
)

// stackNames returns the values of p's samples by stack, outermost frame first, joined by spaces.
func stackNames(p *Profile) map[string][]int64 {
	out := map[string][]int64{}
	for i, s := range p.Samples {
		name := ""
		for _, f := range slices.Backward(p.Tree.Append(nil, s.Stack)) {
			name += " " + p.Name(f)
		}
		if s.Task >= 0 {
			name += " @" + p.Tasks[s.Task].Thread
		}
		out[name] = p.Value(i)
	}
	return out
}

func checkStacks(t *testing.T, p *Profile, want map[string][]int64) {
	t.Helper()
	if err := p.CheckValid(); err != nil {
		t.Error(err)
	}
	got := stackNames(p)
	for name, v := range want {
		if !slices.Equal(got[name], v) {
			t.Errorf("stack%s: got %v, want %v", name, got[name], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got stacks %v, want %v", got, want)
	}
}

func TestMergeAddsUp(t *testing.T) {
	a := stacked(map[string]int64{"mx": 1, "my": 2}, letters)
	b := NewBuilder(WallTime, SamplesCount)
	task := b.Task(Task{Thread: "worker"})
	m := b.Frame(Frame{Func: "m", Module: -1})
	b.Add(b.Child(0, m), task, 50, 5)
	b.Add(b.Child(b.Child(0, m), b.Frame(Frame{Func: "y", Module: -1})), -1, 70, 7)
	p, err := Merge(a, b.Profile())
	if err != nil {
		t.Fatal(err)
	}
	if want := []ValueType{SamplesCount, WallTime}; !slices.Equal(p.Types, want) || p.Default != 0 {
		t.Errorf("types %v, default %d, want %v, 0", p.Types, p.Default, want)
	}
	checkStacks(t, p, map[string][]int64{" m x": {1, 0}, " m y": {9, 70}, " m @worker": {5, 50}})
}

func TestMergeOfNothing(t *testing.T) {
	if p, err := Merge(); err == nil {
		t.Errorf("got %v, want an error", p)
	}
}

// The same library elsewhere in another run is one module, and the same place in it one frame.
func TestMergeMovesAddresses(t *testing.T) {
	run := func(base uint64, count int64) *Profile {
		b := NewBuilder(SamplesCount)
		b.Profile().Modules = []Module{{Path: "/lib/libc.so.6", BuildID: "ab", Base: base, Start: base,
			End: base + 0x1000}}
		b.Add(b.Child(0, b.Frame(Frame{Func: "f", Module: 0, Addr: base + 0x10, ModuleAddr: 0x10})), -1, count)
		return b.Profile()
	}
	other := run(0x9000, 4)
	other.Modules[0].BuildID = "cd"
	p, err := Merge(run(0x5000, 1), run(0x7000, 2), other)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Modules) != 2 || len(p.Frames) != 2 {
		t.Fatalf("got %d modules, %d frames, want 2 and 2: %+v", len(p.Modules), len(p.Frames), p.Frames)
	}
	if p.Frames[0].Addr != 0x5010 || p.Value(0)[0] != 3 {
		t.Errorf("first frame at %#x with %d, want 0x5010 with 3", p.Frames[0].Addr, p.Value(0)[0])
	}
	if p.Frames[1].Addr != 0x9010 || p.Value(1)[0] != 4 {
		t.Errorf("frame of the other build at %#x with %d, want 0x9010 with 4", p.Frames[1].Addr, p.Value(1)[0])
	}
}

func TestMergeTime(t *testing.T) {
	at := func(start, length int) *Profile {
		p := stacked(map[string]int64{"m": 1}, letters)
		if start >= 0 {
			p.Start = time.Unix(int64(1000+start), 0)
		}
		p.Duration = time.Duration(length) * time.Second
		p.Tasks = []Task{{TID: 7}}
		p.Runs = []Run{{Stack: 1, At: time.Second, For: time.Second}}
		return p
	}
	for _, tt := range []struct {
		name         string
		in           []*Profile
		start        int // -1 for none
		length, runs int
	}{
		{"one", []*Profile{at(3, 5)}, 3, 5, 1},
		{"one after the other, given backward", []*Profile{at(20, 5), at(3, 5)}, 3, 10, 2},
		{"two at once: their runs have no order", []*Profile{at(3, 5), at(3, 5)}, 3, 5, 0},
		{"overlapping", []*Profile{at(3, 5), at(6, 5)}, 3, 8, 2},
		{"one inside of the other", []*Profile{at(0, 20), at(6, 5)}, 0, 20, 2},
		{"one without a date", []*Profile{at(3, 5), at(-1, 5)}, -1, 10, 0},
	} {
		p, err := Merge(tt.in...)
		if err != nil {
			t.Fatal(err)
		}
		start := -1
		if !p.Start.IsZero() {
			start = int(p.Start.Unix() - 1000)
		}
		if start != tt.start || p.Duration != time.Duration(tt.length)*time.Second || len(p.Runs) != tt.runs {
			t.Errorf("%s: start %d, %v, %d runs, want %d, %d s, %d runs", tt.name, start, p.Duration, len(p.Runs),
				tt.start,
				tt.length, tt.runs)
		}
		for i := 1; i < len(p.Runs); i++ {
			if p.Runs[i].At < p.Runs[i-1].At+p.Runs[i-1].For {
				t.Errorf("%s: run at %v begins in the one at %v", tt.name, p.Runs[i].At, p.Runs[i-1].At)
			}
		}
		if err := p.CheckValid(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
