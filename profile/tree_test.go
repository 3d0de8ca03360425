package profile

import (
	"slices"
	"testing"
)

func TestTreeKeepsEachStackOnce(t *testing.T) {
	var tree Tree
	if tree.Len() != 1 || tree.Parent(0) != 0 {
		t.Fatalf("zero Tree: Len %d, Parent(0) %d, want 1 and 0", tree.Len(), tree.Parent(0))
	}
	if _, ok := tree.Find(0, 7); ok {
		t.Error("zero Tree finds a stack")
	}
	want := map[[2]uint32]NodeID{}
	for round := range 2 {
		for parent := uint32(0); parent < 40; parent++ {
			for f := range uint32(50) {
				n := tree.Child(NodeID(parent), FrameID(f))
				key := [2]uint32{parent, f}
				if old, ok := want[key]; ok && old != n || !ok && round > 0 {
					t.Fatalf("Child(%d, %d) = %d, before it was %d", parent, f, n, old)
				}
				want[key] = n
				if got, ok := tree.Find(NodeID(parent), FrameID(f)); !ok || got != n {
					t.Fatalf("Find(%d, %d) = %d, %v, want %d", parent, f, got, ok, n)
				}
				if tree.Parent(n) != NodeID(parent) || tree.Frame(n) != FrameID(f) || n <= NodeID(parent) {
					t.Fatalf("node %d: parent %d, frame %d, want %d, %d", n, tree.Parent(n), tree.Frame(n), parent, f)
				}
			}
		}
	}
	if tree.Len() != 1+40*50 {
		t.Errorf("Len = %d, want %d", tree.Len(), 1+40*50)
	}
}

func TestTreeAppendIsInnermostFirst(t *testing.T) {
	var tree Tree
	n := tree.Child(tree.Child(tree.Child(0, 5), 6), 7)
	if got := tree.Append(nil, n); !slices.Equal(got, []FrameID{7, 6, 5}) {
		t.Errorf("Append = %v, want [7 6 5]", got)
	}
	if tree.Depth(n) != 3 || tree.Depth(0) != 0 {
		t.Errorf("Depth = %d and %d, want 3 and 0", tree.Depth(n), tree.Depth(0))
	}
}

func TestBuilderAddsUp(t *testing.T) {
	b := NewBuilder(SamplesCount, WallTime)
	main := b.Frame(Frame{Func: "main", Module: -1, Index: 4, Note: "unsure"})
	if again := b.Frame(Frame{Func: "main", Module: -1}); again != main {
		t.Errorf("same frame is %d and %d", main, again)
	}
	task := b.Task(Task{PID: 1, TID: 2})
	s := b.Child(0, main)
	b.Add(s, task, 1, 10)
	b.Add(s, task, 2, 20)
	b.Add(s, -1, 1, 5)
	p := b.Profile()
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	if got := p.Totals(); !slices.Equal(got, []int64{4, 35}) {
		t.Errorf("Totals = %v, want [4 35]", got)
	}
	if got := p.Value(0); !slices.Equal(got, []int64{3, 30}) {
		t.Errorf("Value(0) = %v, want [3 30]", got)
	}
	if p.TypeIndex("wall") != 1 || p.TypeIndex("cpu") != -1 {
		t.Errorf("TypeIndex = %d, %d, want 1, -1", p.TypeIndex("wall"), p.TypeIndex("cpu"))
	}
}

func TestCheckValidRefuses(t *testing.T) {
	good := func() *Profile {
		b := NewBuilder(SamplesCount)
		b.Add(b.Child(0, b.Frame(Frame{Func: "main", Module: -1})), b.Task(Task{}), 1)
		return b.Profile()
	}
	for name, spoil := range map[string]func(p *Profile){
		"no types":               func(p *Profile) { p.Types, p.Values = nil, nil },
		"default out of range":   func(p *Profile) { p.Default = 1 },
		"value missing":          func(p *Profile) { p.Values = nil },
		"frame out of range":     func(p *Profile) { p.Frames = nil },
		"module out of range":    func(p *Profile) { p.Frames[0].Module = 0 },
		"module below -1":        func(p *Profile) { p.Frames[0].Module = -2 },
		"stack out of range":     func(p *Profile) { p.Samples[0].Stack = 9 },
		"task out of range":      func(p *Profile) { p.Samples[0].Task = 1 },
		"run's stack":            func(p *Profile) { p.Runs = []Run{{Stack: 9}} },
		"run's task":             func(p *Profile) { p.Runs = []Run{{Task: 1}} },
		"stack called by itself": func(p *Profile) { p.Tree.parent[1] = 1 },
	} {
		p := good()
		if err := p.CheckValid(); err != nil {
			t.Fatalf("good profile: %v", err)
		}
		spoil(p)
		if p.CheckValid() == nil {
			t.Errorf("%s: CheckValid finds nothing", name)
		}
	}
}

// What was pushed is found, and Child does not make it again.
func TestTreePush(t *testing.T) {
	var tree Tree
	for f := range FrameID(1000) {
		var n NodeID
		if f%3 == 0 {
			n = tree.Child(NodeID(f/2), f)
		} else {
			n = tree.Push(NodeID(f/2), f)
		}
		if n != NodeID(f+1) {
			t.Fatalf("node for frame %d = %d, want %d", f, n, f+1)
		}
	}
	for f := range FrameID(1000) {
		if n, ok := tree.Find(NodeID(f/2), f); !ok || n != NodeID(f+1) {
			t.Errorf("Find(%d, %d) = %d, %v, want %d", f/2, f, n, ok, f+1)
		}
		if n := tree.Child(NodeID(f/2), f); n != NodeID(f+1) {
			t.Errorf("Child(%d, %d) = %d, want %d", f/2, f, n, f+1)
		}
	}
	if _, ok := tree.Find(5, 5); ok || tree.Len() != 1001 {
		t.Errorf("Find(5, 5) = %v, Len %d, want nothing, 1001", ok, tree.Len())
	}
}

// TestTrim: what a Tree gives back it makes again.
func TestTrim(t *testing.T) {
	var tree Tree
	var ids []NodeID
	at := NodeID(0)
	for f := range FrameID(1000) {
		at = tree.Child(at, f%7)
		ids = append(ids, at)
	}
	tree.Trim()
	at = 0
	for f, want := range ids {
		if n, ok := tree.Find(at, FrameID(f%7)); !ok || n != want {
			t.Fatalf("frame %d: found %d, %v, want %d", f, n, ok, want)
		}
		at = want
	}
	tree.Trim()
	if n := tree.Child(0, 0); n != ids[0] || tree.Len() != 1001 {
		t.Errorf("got stack %d of %d, want %d of 1001", n, tree.Len(), ids[0])
	}
}

// TestGrow: room made beforehand changes nothing but that it is there.
func TestGrow(t *testing.T) {
	for _, before := range []int{0, 1, 500} {
		var plain, grown Tree
		for f := range FrameID(before) {
			plain.Child(0, f)
			grown.Child(0, f)
		}
		grown.Grow(1000)
		room := cap(grown.parent)
		for f := range FrameID(900) {
			if a, b := plain.Child(NodeID(f), f%5), grown.Child(NodeID(f), f%5); a != b {
				t.Fatalf("after %d nodes: frame %d became stack %d, want %d", before, f, b, a)
			}
		}
		if plain.Len() != grown.Len() || cap(grown.parent) != room {
			t.Errorf("after %d nodes: %d stacks in room for %d, want %d in %d", before, grown.Len(), cap(grown.parent),
				plain.Len(), room)
		}
	}
}
