package profile

import (
	"slices"
	"testing"
)

func TestFoldNative(t *testing.T) {
	b := NewBuilder(SamplesCount)
	add := func(n int64, frames ...Frame) NodeID {
		node := NodeID(0)
		for _, f := range frames {
			node = b.Child(node, b.Frame(f))
		}
		b.Add(node, -1, n)
		return node
	}
	main, c := Frame{Func: "main", Module: -1}, Frame{Func: "memcpy", Module: -1}
	js, py := Frame{Func: "handler", Kind: JavaScript, Module: -1}, Frame{Func: "parse", Kind: Python, Module: -1}
	wait := Frame{Func: "read", Kind: Kernel, Module: -1}
	add(1, main, c)
	add(2, main, js)
	add(4, main, js, c)
	last := add(8, main, js, c, py, c, c)
	add(16, main, js, c, wait)
	p := b.Profile()
	p.Runs = []Run{{Task: -1, Stack: last, For: 8}}
	before := p.Totals()
	got := p.FoldNative()
	if err := got.CheckValid(); err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for i, s := range got.Samples {
		name := ""
		for _, f := range got.Tree.Append(nil, s.Stack) {
			name = got.Frames[f].Func + ";" + name
		}
		sums[name] += got.Value(i)[0]
	}
	want := map[string]int64{"main;memcpy;": 1, "main;handler;": 6, "main;handler;parse;": 8, "main;handler;read;": 16}
	if len(sums) != len(want) || len(got.Samples) != len(want) {
		t.Errorf("%d samples of stacks %v, want %v", len(got.Samples), sums, want)
	}
	for name, v := range want {
		if sums[name] != v {
			t.Errorf("%s has %d, want %d", name, sums[name], v)
		}
	}
	if !slices.Equal(got.Totals(), before) || !slices.Equal(p.Totals(), before) {
		t.Errorf("totals are %v, of the profile itself %v; want %v", got.Totals(), p.Totals(), before)
	}
	if top := got.Tree.Append(nil, got.Runs[0].Stack); got.Frames[top[0]].Func != "parse" {
		t.Errorf("the run is in %q", got.Frames[top[0]].Func)
	}
}

func TestMostlyLanguage(t *testing.T) {
	b := NewBuilder(SamplesCount)
	js := b.Child(0, b.Frame(Frame{Func: "handler", Kind: JavaScript, Module: -1}))
	below := b.Child(js, b.Frame(Frame{Func: "memcpy", Module: -1}))
	native := b.Child(0, b.Frame(Frame{Func: "gc", Module: -1}))
	wait := b.Child(native, b.Frame(Frame{Func: "futex", Kind: Kernel, Module: -1}))
	b.Add(js, -1, 1)
	b.Add(below, -1, 3)
	b.Add(native, -1, 3)
	b.Add(wait, -1, 100) // what waits does not count
	p := b.Profile()
	if !p.MostlyLanguage() {
		t.Error("4 of 7 are of a language, and it is not mostly that")
	}
	if got := p.WithoutWaits(); len(got.Samples) != 3 || got.Totals()[0] != 7 || got.CheckValid() != nil {
		t.Errorf("without waits: %d samples, %d in all, %v; want 3, 7", len(got.Samples), got.Totals()[0],
			got.CheckValid())
	}
	b.Add(native, -1, 1)
	if b.Profile().MostlyLanguage() {
		t.Error("4 of 8 are of a language, and it is mostly that")
	}
	if NewBuilder(SamplesCount).Profile().MostlyLanguage() {
		t.Error("nothing is mostly a language")
	}
}
