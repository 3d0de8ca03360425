package unwind

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind/cfi"
)

const (
	madeBase  = 0x20000
	madeStack = 0x7ffe0000
)

// oneRuntime is a runtime whose code is the page at madeBase. Its frames have words words above the return address's
// end.
type oneRuntime struct {
	generation uint64
	words      int64 // from SP to the return address; below 0: no row
	cross      func(frames []Frame, r *regs.Registers, m mem.Reader) (Crossing, error)
	identify   func(s *Stack)
	root       func(pc mem.Addr) bool // nil: from 0xf00 on
	rows       int
	regions    int // asked for so far
}

func (r *oneRuntime) All() []Runtime       { return []Runtime{r} }
func (r *oneRuntime) Meet(*module.Module)  {}
func (r *oneRuntime) Scan(set *module.Set) {}
func (r *oneRuntime) String() string       { return "test" }

func (r *oneRuntime) Region(pc mem.Addr) (Region, bool) {
	r.regions++
	return Region{Start: madeBase, End: madeBase + 0x1000, Generation: r.generation},
		pc >= madeBase && pc < madeBase+0x1000
}

func (r *oneRuntime) Row(_ Region, pc mem.Addr, _ bool) (*cfi.Row, bool, error) {
	r.rows++
	if r.words < 0 {
		return nil, false, nil
	}
	if r.root == nil && pc >= madeBase+0xf00 || r.root != nil && r.root(pc) {
		return &cfi.Row{RA: cfi.Rule{Kind: cfi.Undefined}}, true, nil
	}
	return &cfi.Row{RAReg: uint64(regs.AMD64RIP), CFA: cfi.Rule{Kind: cfi.Register, Reg: uint64(regs.AMD64RSP),
		N: 8 * (r.words + 1)},
		RA: cfi.Rule{Kind: cfi.Offset, N: -8}}, true, nil
}

func (r *oneRuntime) Cross(frames []Frame, now *regs.Registers, m mem.Reader) (Crossing, error) {
	if r.cross == nil {
		return Crossing{}, ErrDeclined
	}
	return r.cross(frames, now, m)
}

func (r *oneRuntime) Identify(_ *snapshot.Thread, s *Stack, _ mem.Reader) {
	if r.identify != nil {
		r.identify(s)
	}
}

// madeThread is a thread in code of no file, which cannot be read, with these words on its stack.
func madeThread(words ...uint64) (*Walker, *snapshot.Thread) {
	stack := make([]byte, 0x100)
	for i, w := range words {
		binary.LittleEndian.PutUint64(stack[8*i:], w)
	}
	table := maps.NewTable([]maps.Mapping{{Start: madeBase, End: madeBase + 0x1000, Perm: maps.Read | maps.Exec},
		{Start: madeStack, End: madeStack + 0x100, Perm: maps.Read | maps.Write, Path: "[stack]"}})
	r := regs.New(regs.AMD64)
	r.Set(regs.AMD64RIP, madeBase+0x100)
	r.Set(regs.AMD64RSP, madeStack)
	th := &snapshot.Thread{TID: 1, Arch: regs.AMD64, Registers: &r, Stack: mem.Range{Start: madeStack, Data: stack}}
	return NewWalker(module.NewSet(table, module.Image{}), nil), th
}

// show prints a stack as "pc(origin) … stop".
func show(s Stack) string {
	var b strings.Builder
	for _, f := range s.Frames {
		fmt.Fprintf(&b, "%#x(%v) ", uint64(f.PC), f.Origin)
	}
	return b.String() + s.Stop.String()
}

// At a new moment a runtime is asked once for all frames of a region, and not at all at the same moment.
func TestRegionIsAskedForOnce(t *testing.T) {
	w, th := madeThread(0, madeBase+0x200, 0, madeBase+0x300, 0, madeBase+0xf00, 0, 0)
	r := &oneRuntime{words: 1}
	w.Use(r)
	memory := mem.NewOverlay(nil, th.Stack)
	w.Walk(th, memory, Options{})
	for _, want := range []int{1, 0} {
		if want > 0 {
			w.Renew()
		}
		r.regions = 0
		if s := w.Walk(th, memory, Options{}); len(s.Frames) != 4 || r.regions != want {
			t.Errorf("%d frames, %d regions were asked for; want 4 and %d", len(s.Frames), r.regions, want)
		}
	}
}

// TestRowsOfRuntime: the row of a runtime is applied as any other, kept as long as the generation of its region
// stays, and asked for again behind that.
func TestRowsOfRuntime(t *testing.T) {
	w, th := madeThread(0, madeBase+0x200, 0, madeBase+0xf00, 0, 0)
	r := &oneRuntime{words: 1}
	w.Use(r)
	memory := mem.NewOverlay(nil, th.Stack)
	const want = "0x20100(context) 0x20200(runtime) 0x20f00(runtime) root"
	for i, step := range []struct {
		generation uint64
		renew      bool
		rows       int // asked for so far
	}{{0, false, 3}, {0, false, 3}, {0, true, 3}, {1, true, 6}, {1, true, 6}} {
		r.generation = step.generation
		if step.renew {
			w.Renew()
		}
		if got := show(w.Walk(th, memory, Options{})); got != want {
			t.Fatalf("walk %d: got %s, want %s", i, got, want)
		}
		if r.rows != step.rows {
			t.Errorf("walk %d: %d rows were asked for, want %d", i, r.rows, step.rows)
		}
	}
	r.words, r.generation = 3, 2 // other code is there now
	w.Renew()
	if got := show(w.Walk(th, memory, Options{})); got != "0x20100(context) 0x20f00(runtime) root" {
		t.Errorf("with other code: got %s", got)
	}
}

// constant is a runtime of the first half of a page, whose rows and generation are the same for all code.
type constant struct{ oneRuntime }

func (r *constant) All() []Runtime { return []Runtime{r} }

func (r *constant) Region(pc mem.Addr) (Region, bool) {
	return Region{Start: madeBase, End: madeBase + 0x800, Generation: 1, Alike: true},
		pc >= madeBase && pc < madeBase+0x800
}

// TestReplacedCode: where a runtime gives the same row for all its code, and says of no other code that it is another,
// only what the bytes of the code said can have become wrong. It is not believed where a guess rests on it.
func TestReplacedCode(t *testing.T) {
	const call, root = 0xe8, madeBase + 0x100
	undefined := func(pc mem.Addr) bool { return pc < madeBase+0x200 }
	for _, tc := range []struct {
		name          string
		pc, fp        uint64
		words         []uint64
		before, after string
	}{
		{"a row leads there", madeBase + 0x300, 0, []uint64{0, madeBase + 0x405, 0, root},
			"0x20300(context) 0x20405(runtime) 0x20100(runtime) root",
			"0x20300(context) 0x20405(runtime) 0x20100(runtime) root"},
		{"a frame pointer leads there", madeBase + 0x900, madeStack, []uint64{0, madeBase + 0x405, 0, root},
			"0x20900(context) 0x20405(frame pointer) 0x20100(runtime) root", "0x20900(context) no rule"},
		{"the top of the stack leads there", madeBase + 0x900, 1, []uint64{madeBase + 0x405, 0, root},
			"0x20900(context) 0x20405(stack top) 0x20100(runtime) root", "0x20900(context) no rule"},
	} {
		w, th := madeThread(tc.words...)
		th.Registers.Set(regs.AMD64RIP, tc.pc)
		th.Registers.Set(regs.AMD64RBP, tc.fp)
		r := &constant{oneRuntime{words: 1, root: undefined}}
		w.Use(r)
		code := make([]byte, 0x1000)
		for i := range code {
			code[i] = 0x06 // no instruction
		}
		code[0x400] = call
		code[0xfb] = call
		memory := mem.NewOverlay(mem.NewOverlay(nil, mem.Range{Start: madeBase, Data: code}), th.Stack)
		walk := func(when, want string) {
			w.Renew()
			for range 2 {
				if s := w.Walk(th, memory, Options{}); show(s) != want {
					t.Errorf("%s, %s: got %s, want %s (%v)", tc.name, when, show(s), want, s.Err)
				}
			}
		}
		walk("first", tc.before)
		rows := r.rows
		walk("later", tc.before)
		if r.rows != rows {
			t.Errorf("%s: rows were asked for again", tc.name)
		}
		code[0x400] = 0x06
		walk("replaced", tc.after)
		code[0x400] = call
		walk("replaced again", tc.before)
	}
}

// TestCross: what a runtime says of a frame without a row.
func TestCross(t *testing.T) {
	next := func(sp, pc uint64) regs.Registers {
		r := regs.New(regs.AMD64)
		r.Set(regs.AMD64RSP, sp)
		r.Set(regs.AMD64RIP, pc)
		return r
	}
	once := func(c Crossing) func([]Frame, *regs.Registers, mem.Reader) (Crossing, error) {
		return func(frames []Frame, _ *regs.Registers, _ mem.Reader) (Crossing, error) {
			if len(frames) > 1 {
				return Crossing{Root: true}, nil
			}
			return c, nil
		}
	}
	for _, tc := range []struct {
		name  string
		cross func([]Frame, *regs.Registers, mem.Reader) (Crossing, error)
		want  string
		err   string
		late  bool
	}{
		{"the root", func([]Frame, *regs.Registers, mem.Reader) (Crossing, error) { return Crossing{Root: true}, nil },
			"0x20100(context) root", "", false},
		{"a caller", once(Crossing{Registers: next(madeStack+16, madeBase+0x300)}),
			"0x20100(context) 0x20300(runtime) root", "", false},
		{"to no code", once(Crossing{Registers: next(madeStack+16, 0x30000)}), "0x20100(context) no rule",
			"test leads to 0x30000", false},
		{"without registers", once(Crossing{}), "0x20100(context) no rule", "leads to no frame", false},
		{"round and round", func([]Frame, *regs.Registers, mem.Reader) (Crossing, error) {
			return Crossing{Registers: next(madeStack, madeBase+0x100)}, nil
		}, "0x20100(context) no rule", "the same frame", false},
		{"declined", nil, "0x20100(context) no rule", "test has no row for it", false},
		{"by a word that was not copied", func(frames []Frame, _ *regs.Registers, m mem.Reader) (Crossing, error) {
			if len(frames) > 1 {
				return Crossing{Root: true}, nil
			}
			if _, err := mem.Uint(m, 0x5000, 8, binary.LittleEndian); err != nil {
				return Crossing{}, err
			}
			return Crossing{Registers: next(madeStack+16, madeBase+0x300)}, nil
		}, "0x20100(context) 0x20300(runtime) root", "", true},
	} {
		w, th := madeThread()
		w.Use(&oneRuntime{words: -1, cross: tc.cross})
		s := w.Walk(th, mem.NewOverlay(mem.NewOverlay(nil, mem.Range{Start: 0x5000, Data: make([]byte, 8)}), th.Stack),
			Options{})
		if got := show(s); got != tc.want {
			t.Errorf("%s: got %s, want %s (%v)", tc.name, got, tc.want, s.Err)
		}
		if tc.err != "" && (s.Err == nil || !strings.Contains(s.Err.Error(), tc.err)) {
			t.Errorf("%s: reason %v, want %q in it", tc.name, s.Err, tc.err)
		}
		if s.Late != tc.late || tc.late && s.Frames[1].Note == "" {
			t.Errorf("%s: late %v, notes %+v", tc.name, s.Late, s.Frames)
		}
	}
}

// TestIdentify: a fault while frames are identified costs their names alone.
func TestIdentify(t *testing.T) {
	w, th := madeThread(0, madeBase+0xf00)
	r := &oneRuntime{words: 1}
	w.Use(r)
	memory := mem.NewOverlay(nil, th.Stack)
	r.identify = func(s *Stack) { s.Frames[1].Runtime, s.Frames[1].Site = r, 7 }
	for range 2 {
		if s := w.Walk(th, memory, Options{}); s.Frames[1].Site != 7 || s.Frames[0].Site != 0 ||
			s.Frames[0].Runtime != nil {
			t.Errorf("sites of %+v, want 0 and 7", s.Frames)
		}
	}
	r.identify = func(*Stack) { panic(errors.New("of the test")) }
	s := w.Walk(th, memory, Options{})
	if show(s) != "0x20100(context) 0x20f00(runtime) root" || !strings.Contains(s.Frames[0].Note, "of the test") {
		t.Errorf("got %s, note %q", show(s), s.Frames[0].Note)
	}
}

// TestSiteIsOfThisWalk: a walk into the memory of another one has none of its Sites.
func TestSiteIsOfThisWalk(t *testing.T) {
	w, th := madeThread(0, madeBase+0xf00, 0, 0)
	r := &oneRuntime{words: 1}
	r.identify = func(s *Stack) { s.Frames[1].Site, s.Frames[1].Runtime = 7, r }
	w.Use(r)
	memory, s := mem.NewOverlay(nil, th.Stack), Stack{}
	w.WalkInto(&s, th, memory, Options{})
	if s.Frames[1].Site != 7 || s.Frames[1].Runtime != Runtime(r) {
		t.Fatalf("first walk: got %+v", s.Frames[1])
	}
	r.identify = nil
	w.WalkInto(&s, th, memory, Options{})
	if f := s.Frames[1]; f.Site != 0 || f.Runtime != nil {
		t.Errorf("second walk: got site %d of %v, want none", f.Site, f.Runtime)
	}
}
