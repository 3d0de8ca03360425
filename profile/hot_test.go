package profile

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// stacked returns a profile of samples/count with the stacks given outermost first.
func stacked(stacks map[string]int64, split func(string) []string) *Profile {
	b := NewBuilder(SamplesCount)
	names := make([]string, 0, len(stacks))
	for s := range stacks {
		names = append(names, s)
	}
	slices.Sort(names)
	for _, s := range names {
		n := NodeID(0)
		for _, name := range split(s) {
			n = b.Child(n, b.Frame(Frame{Func: name, Module: -1}))
		}
		b.Add(n, -1, stacks[s])
	}
	return b.Profile()
}

// letters takes every letter as a frame.
func letters(s string) []string {
	var out []string
	for _, r := range s {
		out = append(out, string(r))
	}
	return out
}

func TestHottest(t *testing.T) {
	type row struct {
		name        string
		self, total int64
	}
	for _, tt := range []struct {
		name   string
		stacks map[string]int64
		want   []row
	}{
		{"nothing", nil, nil},
		{"the empty stack is nobody's", map[string]int64{"": 5, "m": 1}, []row{{"m", 1, 1}}},
		{"a leaf and its callers", map[string]int64{"mab": 7, "ma": 2, "mc": 1},
			[]row{{"b", 7, 7}, {"a", 2, 9}, {"c", 1, 1}, {"m", 0, 10}}},
		{"recursion counts once", map[string]int64{"mfff": 4, "mf": 1}, []row{{"f", 5, 5}, {"m", 0, 5}}},
		{"mutual recursion", map[string]int64{"mabab": 3, "maba": 2}, []row{{"b", 3, 5}, {"a", 2, 5}, {"m", 0, 5}}},
		{"two branches of one function", map[string]int64{"maf": 1, "mbf": 1},
			[]row{{"f", 2, 2}, {"m", 0, 2}, {"a", 0, 1}, {"b", 0, 1}}},
		{"recursion in one branch alone", map[string]int64{"mf": 1, "mxfyf": 10},
			[]row{{"f", 11, 11}, {"m", 0, 11}, {"x", 0, 10}, {"y", 0, 10}}},
		{"a function beside its own branch", map[string]int64{"mfg": 1, "mgf": 2},
			[]row{{"f", 2, 3}, {"g", 1, 3}, {"m", 0, 3}}},
	} {
		var got []row
		for _, h := range Hottest(stacked(tt.stacks, letters), 0) {
			got = append(got, row{h.Name, h.Self, h.Total})
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Addresses of one function are one row, and what has no name is shown by module and address.
func TestHottestGoByName(t *testing.T) {
	b := NewBuilder(SamplesCount)
	b.Profile().Modules = []Module{{Path: "/usr/lib/libx.so.1"}}
	b.Add(b.Child(0, b.Frame(Frame{Func: "f", Addr: 1, Module: 0})), -1, 1)
	b.Add(b.Child(0, b.Frame(Frame{Func: "f", Addr: 2, Module: 0})), -1, 2)
	b.Add(b.Child(0, b.Frame(Frame{Addr: 0x7f01, Module: 0, ModuleAddr: 0x123})), -1, 4)
	b.Add(b.Child(0, b.Frame(Frame{Addr: 0xbeef, Module: -1})), -1, 8)
	b.Add(b.Child(0, b.Frame(Frame{Module: -1})), -1, 16)
	want := []Hot{{Function{"?", false}, 4, 16, 16}, {Function{"0xbeef", false}, 3, 8, 8},
		{Function{"libx.so.1+0x123", false}, 2, 4, 4}, {Function{"f", false}, 0, 3, 3}}
	if got := Hottest(b.Profile(), 0); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestTotalsAgree draws trees: both ways of adding up give the same.
func TestTotalsAgree(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		b := NewBuilder(SamplesCount)
		nodes := []NodeID{0}
		for range 1 + rnd.IntN(60) {
			f := b.Frame(Frame{Func: string(rune('a' + rnd.IntN(6))), Module: -1})
			nodes = append(nodes, b.Child(nodes[rnd.IntN(len(nodes))], f))
		}
		for range rnd.IntN(40) {
			b.Add(nodes[rnd.IntN(len(nodes))], rnd.IntN(3)-1, rnd.Int64N(9))
		}
		p := b.Profile()
		of, first := p.Functions()
		one, other := make([]Hot, len(first)), make([]Hot, len(first))
		p.totalsBySample(0, of, one)
		p.totalsByNode(0, of, other)
		if !slices.Equal(one, other) {
			t.Fatalf("round %d: %v by sample, %v by node", round, one, other)
		}
	}
}

// TestDeepStacksAreNotWalked: a thousand samples below a recursion are added up node by node, a few
// stacks of usual depth are not.
func TestDeepStacksAreNotWalked(t *testing.T) {
	deep := stacked(map[string]int64{"abcd": 1, "abce": 2}, letters)
	if !deep.walkable() {
		t.Error("two short stacks: not walked")
	}
	n := deep.Samples[0].Stack
	for range 10_000 {
		n = deep.Tree.Child(n, deep.Tree.Frame(n))
	}
	for task := range 1000 {
		deep.Tasks = append(deep.Tasks, Task{TID: task + 1})
		deep.Samples, deep.Values = append(deep.Samples, Sample{n, task}), append(deep.Values, 1)
	}
	if deep.walkable() {
		t.Error("a thousand samples 10,000 deep: walked")
	}
	if got := Hottest(deep, 0)[0]; got.Self != 1001 || got.Total != 1001 {
		t.Errorf("got %+v, want 1001 samples in the recursion", got)
	}
}
