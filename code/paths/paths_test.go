package paths

import (
	"slices"
	"testing"
)

func set(lo, hi uint64) *Set[string] { return &Set[string]{Range: Whole(lo, hi)} }

// taken is all that is open, in its order.
func taken(s *Set[string]) (pcs []uint64) {
	for {
		p, ok := s.Take()
		if !ok {
			return pcs
		}
		pcs = append(pcs, p.PC)
	}
}

// TestOrder: what has fewer calls behind it goes first, and code behind a call that a jump leads to last.
func TestOrder(t *testing.T) {
	s, asked := set(0, 100), 0
	jumps := func() []uint64 { asked++; return []uint64{40, 20} }
	p := Path[string]{PC: 10, Calls: 1}
	s.BehindCall(&p, 20, jumps)
	s.BehindCall(&p, 30, jumps)
	s.Add(Path[string]{PC: 50})
	s.Add(Path[string]{PC: 100}) // outside
	if got, want := taken(s), []uint64{50, 30, 20}; !slices.Equal(got, want) || asked != 1 {
		t.Errorf("got %v, want %v; jumps were looked for %d times", got, want, asked)
	}
	s.Add(Path[string]{PC: 1, Calls: 1 << 30})
	if got := taken(s); len(got) != 1 {
		t.Errorf("a path behind many calls: got %v", got)
	}
}

// TestBounds: what does not fit is left out, and said.
func TestBounds(t *testing.T) {
	s := set(0, 100)
	for range maxOpen {
		s.Add(Path[string]{PC: 1})
	}
	if s.Exhausted {
		t.Error("exhausted too early")
	}
	s.Add(Path[string]{PC: 1})
	if !s.Exhausted || len(taken(s)) != maxOpen {
		t.Error("a path more than the bound is not said")
	}
	if s.Resume(50, nil, nil) {
		t.Error("a set that is exhausted is resumed")
	}
}

// TestResume: a case of a switch begins with a copy of the state of the last jump before it.
func TestResume(t *testing.T) {
	s := set(0, 100)
	s.Switches = []Path[string]{{PC: 10, State: "first"}, {PC: 30, State: "second"}, {PC: 70, State: "behind"}}
	s.Ends = []uint64{60, 20, 40, 90}
	seen := map[uint64]bool{}
	unseen := func(pc uint64, _ string) bool { return !seen[pc] }
	clone := func(state string) string { return state + ", copied" }
	for _, want := range []Path[string]{{PC: 60, State: "second, copied"}, {PC: 40, State: "second, copied"},
		{PC: 20, State: "first, copied"}} {
		if !s.Resume(80, unseen, clone) {
			t.Fatalf("nothing is resumed, want %v", want)
		}
		if got, _ := s.Take(); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
		seen[want.PC] = true
	}
	if s.Resume(80, unseen, clone) {
		t.Error("something is resumed that was seen")
	}
}

func TestWindow(t *testing.T) {
	const m = MaxFunction
	for _, row := range []struct {
		name           string
		entry, end, pc uint64
		want           Range
		ok             bool
	}{
		{"in a known function", m, m + 100, m + 10, Whole(m, m+100), true},
		{"in one whose end is not known", m, 0, m + 10, Range{m, 2 * m, [2]uint64{m, m + 10 + maxSweep}}, true},
		{"a function as large as a file says", m, 1 << 60, m + 10, Whole(m, 2*m+10), true},
		{"a cold part in front", 3 * m, 3*m + 100, 2 * m, Range{m, 4*m + 100, [2]uint64{3 * m, 3*m + 100}}, true},
		{"near address 0", 0, 100, 200, Range{0, m + 200, [2]uint64{0, 100}}, true},
	} {
		if got, ok := Window(row.entry, row.end, row.pc); got != row.want || ok != row.ok {
			t.Errorf("%s: got %v, %v, want %v", row.name, got, ok, row.want)
		}
	}
	if _, ok := Window(m, m+100, m+maxWindow+200); ok {
		t.Error("a place far away is looked for")
	}
	if got, want := Around(10), (Range{0, m + 10, [2]uint64{10, 10 + maxSweep}}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := Whole(10, 90).Within(20, 50), Whole(20, 50); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Whole(10, 20).Within(30, 50); got.Lo > got.Hi {
		t.Errorf("outside: got %v", got)
	}
}
