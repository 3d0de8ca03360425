package suspended

import (
	"errors"
	"fmt"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/chains"
	"github.com/fpstack/fpstack/vm/moment"
	"github.com/fpstack/fpstack/vm/search"
	"github.com/fpstack/fpstack/work"
)

// TestMake: functions with those that wait for them, those of which there are most first; one of the runtime's own
// alone is its own.
func TestMake(t *testing.T) {
	var frames []Frame
	for i, own := range []bool{false, true, true, true, false} {
		frames = append(frames, Frame{unwind.Frame{Site: unwind.Site(1 + i%3)}, own, ""})
	}
	var l List
	got := ""
	for _, f := range l.Make(frames, [][]int{{}, {2}, {}, {}, {2}}, func(c *chains.Chain) Wait {
		return Wait{fmt.Sprint("waits ", c.Nodes[0]%3), "w"}
	}) {
		var s unwind.Stack
		l.FiberStack(f.ID, &s)
		for i := range s.Frames {
			got += fmt.Sprint(s.Frames[i].Site, " ")
		}
		got += fmt.Sprintf("%d %s %v by %v %t\n", f.ID, f.State, f.Wait, f.AwaitedBy, f.System)
	}
	const want = "1 1 waits 0 w by [] true\n1 2 waits 0 w by [] false\n2 3 waits 1 w by [5] false\n" +
		"2 4 waits 1 w by [5] true\n3 5 waits 2 w by [] false\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// attempt is a search that finds so many.
type attempt struct {
	found, moved int
	err          error
	closed       bool
}

func (a *attempt) Read() (int, error) { return a.found, a.err }
func (a *attempt) Moved() int         { return a.moved }
func (a *attempt) Close()             { a.closed = true }

// TestBest: it is searched again while something moves, and what has found most is kept.
func TestBest(t *testing.T) {
	failed := errors.New("failed")
	for _, tc := range []struct {
		name       string
		all        []attempt
		best, made int
	}{
		{"nothing moves", []attempt{{found: 3}}, 0, 1},
		{"the second is whole", []attempt{{found: 3, moved: 1}, {found: 4}}, 1, 2},
		{"none is whole", []attempt{{found: 3, moved: 1}, {found: 5, moved: 1}, {found: 4, moved: 1}}, 1, 3},
		{"the second fails", []attempt{{found: 3, moved: 1}, {found: 2, moved: 1, err: failed}}, 0, 2},
		{"there are many", []attempt{{found: maxRetried + 1, moved: 1}}, 0, 1},
	} {
		made := 0
		got, err := Best(func() *attempt { made++; return &tc.all[made-1] })
		if got != &tc.all[tc.best] || made != tc.made || err != tc.all[made-1].err {
			t.Errorf("%s: %+v of %d, want %d of %d", tc.name, got, made, tc.best, tc.made)
		}
		for i := range tc.all {
			if tc.all[i].closed != (i != tc.best) {
				t.Errorf("%s: number %d is closed: %t", tc.name, i, tc.all[i].closed)
			}
		}
	}
}

// TestProblem: each way in which something may be missing is said; nothing is where all was read.
func TestProblem(t *testing.T) {
	table := maps.NewTable([]maps.Mapping{{Start: 0x1000, End: 0x9000, Perm: maps.Read | maps.Write}})
	searched := func(n int) func(*maps.Mapping, func(mem.Addr, []byte) bool) error {
		return func(_ *maps.Mapping, yield func(mem.Addr, []byte) bool) error {
			for range n {
				yield(0x1000, make([]byte, 1<<20))
			}
			return nil
		}
	}
	for _, tc := range []struct {
		name   string
		pieces int
		memory mem.Reader
		least  bool // the budget is small
		do     func(*Scan)
		want   string
	}{
		{"all", 1, nil, false, func(*Scan) {}, "<nil>"},
		{"more than is searched", 513, nil, false, func(*Scan) {},
			"calls may be missing: no more than 512 MB of its memory were searched"},
		{"more than is read", 1, nil, false, func(s *Scan) { s.Full = true },
			"calls are missing: no more than 65536 objects of a kind are read"},
		{"mapped, and not to be read", 1, nil, false, func(s *Scan) { s.View.Bytes(0x8000, 8) },
			"calls may be missing, or who waits for them: not all of their memory could be read"},
		{"not mapped: a word leads anywhere", 1, nil, false, func(s *Scan) { s.View.Bytes(0xa000, 8) }, "<nil>"},
		{"the budget ends", 1, nil, true, func(s *Scan) {
			for range 1 << 19 {
				s.View.Bytes(0x1000, 8)
			}
		}, "calls may be missing: " + work.ErrSpent.Error()},
		{"it changes", 1, &changing{}, false, func(s *Scan) {
			s.View.Bytes(0x1000, 8)
			p := s.Moment.Part()
			s.Settle()
			s.Stayed(p)
		}, "calls may be missing that have just begun, or who waits for them: 1 objects changed while they were " +
			"read: " + moment.ErrChanged.Error()},
	} {
		memory := tc.memory
		if memory == nil {
			memory = mem.NewOverlay(nil, mem.Range{Start: 0x1000, Data: make([]byte, 4096)})
		}
		steps := int64(1 << 30)
		if tc.least {
			steps = 1 << 19
		}
		m := Of(module.Image{Memory: memory, Search: searched(tc.pieces)})
		s := m.Scan(search.Memory{Table: table, Budget: work.New(steps, 1<<30)})
		s.Each(func(mem.Addr, []byte) bool { return true })
		tc.do(&s)
		if got := fmt.Sprint(s.Problem("calls")); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
		s.Close()
	}
}

// changing is memory that is another each time.
type changing struct{ n byte }

func (c *changing) ReadMem(b []byte, _ mem.Addr) (int, error) {
	c.n++
	for i := range b {
		b[i] = c.n
	}
	return len(b), nil
}
