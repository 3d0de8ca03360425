package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/tests/memory"
)

// drawn is a memory that is read by pieces.
type drawn struct {
	mem.Range
	calls int
	err   error
}

func (d *drawn) ReadPieces(pieces []Piece) error {
	d.calls++
	if d.err != nil {
		return d.err
	}
	for i := range pieces {
		p := &pieces[i]
		if p.Addr >= d.Start && p.Addr < d.End() {
			p.Got = copy(p.Data, d.Data[p.Addr-d.Start:])
		}
	}
	return nil
}

type copyFunc func(t *Thread, f *Fetcher)

func (c copyFunc) Copy(t *Thread, f *Fetcher) { c(t, f) }
func (c copyFunc) String() string             { return "test" }

// words is a memory of n words from 0x1000 on, each the address of the next.
func words(n int) *drawn {
	i := memory.NewImage(0x1000, 8, regs.AMD64.Order)
	for k := range n {
		i.Word(0x1000 + 8*uint64(k+1))
	}
	return &drawn{Range: i.Range()}
}

func show(ranges []mem.Range) string {
	var out []string
	for _, r := range ranges {
		out = append(out, fmt.Sprintf("%#x+%d", uint64(r.Start), len(r.Data)))
	}
	return strings.Join(out, " ")
}

func TestFetch(t *testing.T) {
	stack := mem.Range{Start: 0x2000, Data: make([]byte, 64)}
	usual := CopyBudget
	usual.Time = time.Hour // others may have the CPU
	for _, row := range []struct {
		name   string
		budget Budget
		wants  [][]Want // one Fetch each
		all    []bool
		copied string
		calls  int
		spent  bool
	}{
		{"several ranges by one call", usual, [][]Want{{{0x1000, 8}, {0x1010, 16}}}, []bool{true}, "0x1000+8 0x1010+16",
			1, false},
		{"held already", usual, [][]Want{{{0x1000, 32}}, {{0x1008, 8}}, {{0x2008, 16}}}, []bool{true, true, true},
			"0x1000+32", 1, false},
		{"held in part", usual, [][]Want{{{0x1000, 16}}, {{0x1008, 16}}}, []bool{true, true}, "0x1000+16 0x1008+16", 2,
			false},
		{"not mapped", usual, [][]Want{{{0x10, 8}, {0x1000, 8}}}, []bool{false}, "0x1000+8", 1, false},
		{"mapped in part", usual, [][]Want{{{0x11f8, 16}}}, []bool{false}, "0x11f8+8", 1, false},
		{"nothing and less", usual, [][]Want{{{0x1000, 0}}, {{0x1000, -1}}, {}}, []bool{true, false, true}, "", 0,
			false},
		{"around the end", usual, [][]Want{{{1<<64 - 8, 16}}}, []bool{false}, "", 0, false},
		{"calls", Budget{2, 9, 999, time.Hour}, [][]Want{{{0x1000, 8}}, {{0x1010, 8}}, {{0x1020, 8}}},
			[]bool{true, true, false}, "0x1000+8 0x1010+8", 2, true},
		{"ranges", Budget{9, 2, 999, time.Hour}, [][]Want{{{0x1000, 8}, {0x1010, 8}, {0x1020, 8}}}, []bool{false},
			"0x1000+8 0x1010+8", 1, true},
		{"bytes", Budget{9, 9, 20, time.Hour}, [][]Want{{{0x1000, 16}}, {{0x1020, 16}}, {{0x1040, 4}}},
			[]bool{true, false, false}, "0x1000+16", 1, true},
		{"the whole address space", usual, [][]Want{{{0x1000, math.MaxInt}}}, []bool{false}, "", 0, true},
		{"time", Budget{9, 9, 999, time.Nanosecond}, [][]Want{{{0x1000, 8}}}, []bool{false}, "", 0, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			m, thread, f := words(64), &Thread{Arch: regs.AMD64, Stack: stack}, &Fetcher{Budget: row.budget}
			var all []bool
			f.Run([]Copier{copyFunc(func(_ *Thread, f *Fetcher) {
				time.Sleep(time.Microsecond)
				for _, w := range row.wants {
					all = append(all, f.Fetch(w...))
				}
			})}, thread, m)
			if got := show(thread.Copied); got != row.copied || !slices.Equal(all, row.all) || m.calls != row.calls {
				t.Errorf("copied %q %v by %d calls, want %q %v by %d", got, all, m.calls, row.copied, row.all,
					row.calls)
			}
			for _, r := range thread.Copied {
				if want, _ := m.Bytes(r.Start, len(r.Data)); !bytes.Equal(r.Data, want) {
					t.Errorf("bytes of %#x are not those of the memory", uint64(r.Start))
				}
			}
			switch s := thread.Shortfalls; {
			case !row.spent && len(s) > 0:
				t.Errorf("shortfalls %v, want none", s)
			case row.spent && (len(s) != 1 || s[0].Copier != "test" || !errors.Is(s[0].Why, ErrSpent)):
				t.Errorf("shortfalls %v, want that the budget is spent", s)
			}
		})
	}
}

// chain follows pointers from 0x1000 on.
func chain(_ *Thread, f *Fetcher) {
	for at := mem.Addr(0x1000); f.Fetch(Want{at, 8}); {
		next, _ := f.Word(at)
		at = mem.Addr(next)
	}
}

// TestFetchChain follows a chain of unknown length: it ends where memory or the budget does.
func TestFetchChain(t *testing.T) {
	for _, row := range []struct{ links, want int }{{64, 64}, {10_000, CopyBudget.Calls}} {
		thread, f := &Thread{Arch: regs.AMD64}, &Fetcher{Budget: CopyBudget}
		f.Budget.Time = time.Hour
		f.Run([]Copier{copyFunc(chain)}, thread, words(row.links))
		if len(thread.Copied) != row.want || (len(thread.Shortfalls) > 0) != (row.want < row.links) {
			t.Errorf("chain of %d: %d ranges %v", row.links, len(thread.Copied), thread.Shortfalls)
		}
	}
}

// TestCopierIsAlone has Copiers that misbehave between others: each costs what it asked for alone.
func TestCopierIsAlone(t *testing.T) {
	one := func(at mem.Addr) Copier { return copyFunc(func(_ *Thread, f *Fetcher) { f.Fetch(Want{at, 8}) }) }
	panics := copyFunc(func(_ *Thread, f *Fetcher) { f.Fetch(Want{0x1100, 8}); panic("of the test") })
	greedy := copyFunc(func(_ *Thread, f *Fetcher) {
		for at := mem.Addr(0x1180); f.Fetch(Want{at, 8}); at += 8 {
		}
	})
	thread, f := &Thread{Arch: regs.AMD64}, &Fetcher{Budget: Budget{3, 3, 999, time.Hour}}
	f.Run([]Copier{one(0x1000), panics, one(0x1010), greedy, one(0x1020)}, thread, words(64))
	if got, want := show(thread.Copied), "0x1000+8 0x1010+8 0x1180+8 0x1188+8 0x1190+8 0x1020+8"; got != want {
		t.Errorf("copied %s, want %s", got, want)
	}
	if s := thread.Shortfalls; len(s) != 2 || !strings.Contains(s[0].String(), "of the test") ||
		!errors.Is(s[1].Why, ErrSpent) {
		t.Errorf("shortfalls %v", s)
	}
	dead := &drawn{err: errors.New("gone")}
	f.Run([]Copier{one(0x1000), one(0x1010)}, thread, dead)
	if s := thread.Shortfalls; dead.calls != 1 || len(thread.Copied) != 0 || len(s) != 2 || s[1].Why != dead.err {
		t.Errorf("a memory that fails was read %d times: %v", dead.calls, s)
	}
}

// TestRunWarm: a Fetcher that has met a thread copies the next without an allocation.
func TestRunWarm(t *testing.T) {
	thread, f, m := &Thread{Arch: regs.AMD64}, &Fetcher{Budget: CopyBudget}, words(200)
	f.Budget.Time = time.Hour
	copiers := []Copier{copyFunc(chain),
		copyFunc(func(_ *Thread, f *Fetcher) { f.Fetch(Want{0x1000, 1600}, Want{0x10, 8}) })}
	run := func() { f.Run(copiers, thread, m) }
	for range 3 {
		run()
	}
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	if len(thread.Copied) != 201 {
		t.Errorf("%d ranges, want 201", len(thread.Copied))
	}
}

// TestKeep: what was kept stays as it is when the next thread is copied.
func TestKeep(t *testing.T) {
	f, m := &Fetcher{}, words(64)
	all := copyFunc(func(_ *Thread, f *Fetcher) { f.Fetch(Want{0x1000, 256}, Want{0x1180, 8}) })
	threads := make([]Thread, 40)
	for i := range threads {
		m.Data[0] = byte(i)
		threads[i].Arch = regs.AMD64
		f.Run([]Copier{all}, &threads[i], m)
		f.Keep()
	}
	for i := range threads {
		if c := threads[i].Copied; len(c) != 2 || c[0].Data[0] != byte(i) || show(c) != "0x1000+256 0x1180+8" {
			t.Fatalf("thread %d has %s, first byte %d", i, show(c), c[0].Data[0])
		}
	}
}

// TestFetchStill: of threads that are stopped together what was kept of one is not read again for the next, within the
// budget of that one; what was not kept is.
func TestFetchStill(t *testing.T) {
	for _, row := range []struct {
		name       string
		still      bool
		keep       bool
		wants      []Want // of the second thread
		copied     string
		calls      int
		spentRange bool
	}{
		{"the same", true, true, []Want{{0x1000, 16}}, "0x1000+16", 0, false},
		{"the begin of it", true, true, []Want{{0x1000, 8}}, "0x1000+8", 0, false},
		{"more of it", true, true, []Want{{0x1000, 24}}, "0x1000+24", 1, false},
		{"another", true, true, []Want{{0x1000, 16}, {0x1020, 8}}, "0x1000+16 0x1020+8", 1, false},
		{"not kept", true, false, []Want{{0x1000, 16}}, "0x1000+16", 1, false},
		{"not stopped together", false, true, []Want{{0x1000, 16}}, "0x1000+16", 1, false},
		{"too many ranges", true, true, []Want{{0x1000, 8}, {0x1020, 8}, {0x1030, 8}, {0x1000, 16}},
			"0x1000+8 0x1020+8 0x1030+8", 1, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			m, f := words(64), &Fetcher{Still: row.still, Budget: Budget{9, 3, 999, time.Hour}}
			ask := func(wants ...Want) *Thread {
				thread := &Thread{Arch: regs.AMD64}
				f.Run([]Copier{copyFunc(func(_ *Thread, f *Fetcher) { f.Fetch(wants...) })}, thread, m)
				return thread
			}
			first := ask(Want{0x1000, 16})
			if row.keep {
				f.Keep()
			}
			calls := m.calls
			second := ask(row.wants...)
			if got := show(second.Copied); got != row.copied || m.calls-calls != row.calls {
				t.Errorf("copied %q by %d calls, want %q by %d", got, m.calls-calls, row.copied, row.calls)
			}
			for _, r := range append(second.Copied, first.Copied...) {
				if want, _ := m.Bytes(r.Start, len(r.Data)); !bytes.Equal(r.Data, want) {
					t.Errorf("bytes of %#x are not those of the memory", uint64(r.Start))
				}
			}
			if spent := len(second.Shortfalls) > 0; spent != row.spentRange {
				t.Errorf("shortfalls %v", second.Shortfalls)
			}
		})
	}
}
