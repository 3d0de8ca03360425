package hotspot

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// pieces reads a recorded process as if it were stopped.
type pieces struct {
	memory *mem.Overlay
	calls  int
}

func (p *pieces) ReadPieces(all []snapshot.Piece) error {
	p.calls++
	for i := range all {
		all[i].Got = 0
		if p.memory.Holds(all[i].Addr, len(all[i].Data)) { // an error would be an allocation
			all[i].Got, _ = p.memory.ReadMem(all[i].Data, all[i].Addr)
		}
	}
	return nil
}

// TestCopyWarm: of a thread whose code was met the heads of its blobs and methods are copied by one read, without
// an allocation; and they are enough: nothing is read late.
func TestCopyWarm(t *testing.T) {
	open(t, "ring-", func(name string, p *process) {
		r := p.begin(p.running)
		th := p.Threads[0]
		memory := &pieces{memory: p.Reader(&p.Threads[0], p.running)}
		f := &snapshot.Fetcher{Budget: snapshot.CopyBudget}
		f.Budget.Time = time.Hour
		copiers := []snapshot.Copier{r}
		run := func() { f.Run(copiers, &th, memory) }
		for range 3 {
			run()
		}
		memory.calls = 0
		run()
		calls := memory.calls
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
		if calls != 1 || len(th.Copied) == 0 || len(th.Shortfalls) > 0 {
			t.Errorf("%s: %d reads, %d ranges, %v, want one read", name, calls, len(th.Copied), th.Shortfalls)
		}
		th.Copied = slices.Clone(th.Copied)
		s := p.walker.Walk(&th, p.Reader(&th, p.running), unwind.Options{})
		for i := range s.Frames {
			if s.Frames[i].Unsure {
				t.Errorf("%s: frame %d is unsure: %s", name, i, s.Frames[i].Note)
			}
		}
	})
}

// TestCopyCold: what is copied of a thread whose code was copied before, and not walked, is enough to walk it.
func TestCopyCold(t *testing.T) {
	for _, prefix := range []string{"ring-", "chaos-"} {
		open(t, prefix, func(name string, p *process) {
			for i := range p.Threads {
				r := p.begin(p.running)
				th := p.Threads[i]
				f := &snapshot.Fetcher{Budget: snapshot.CopyBudget}
				f.Budget.Time = time.Hour
				for range 2 { // the first may have been of words that were left over on another stack
					f.Run([]snapshot.Copier{r}, &th, &pieces{memory: p.Reader(&p.Threads[i], p.running)})
				}
				if th.Copied = slices.Clone(th.Copied); len(th.Copied) == 0 {
					t.Fatalf("%s: nothing is copied: %v", name, th.Shortfalls)
				}
				p.walker.Renew()
				for k, f := range p.walker.Walk(&th, p.Reader(&th, p.running), unwind.Options{}).Frames {
					if strings.Contains(f.Note, "ran again") {
						t.Errorf("%s: thread %d frame %d: %s", name, i, k, f.Note)
					}
				}
			}
		})
	}
}

// TestCopySigned: return addresses that are signed lead to as much as others. Those that were recorded are not.
func TestCopySigned(t *testing.T) {
	const mask = 0x7f << 48
	open(t, "ring-", func(name string, p *process) {
		r := p.begin(p.running)
		copied := func(th snapshot.Thread) (at []mem.Addr) {
			f := &snapshot.Fetcher{Budget: snapshot.CopyBudget}
			f.Budget.Time = time.Hour
			for range 2 { // the first meets the code
				f.Run([]snapshot.Copier{r}, &th, &pieces{memory: p.Reader(&p.Threads[0], p.running)})
			}
			for _, c := range th.Copied {
				at = append(at, c.Start)
			}
			return at
		}
		th, signed, j := p.Threads[0], 0, r.jvm.Load()
		want := copied(th)
		th.PACMask, th.Stack.Data = mask, slices.Clone(th.Stack.Data)
		for i := 0; i+wordSize <= len(th.Stack.Data); i += wordSize {
			if w := binary.LittleEndian.Uint64(th.Stack.Data[i:]); j.made(mem.Addr(w)) {
				binary.LittleEndian.PutUint64(th.Stack.Data[i:], w|0x2a<<48)
				signed++
			}
		}
		if got := copied(th); signed == 0 || len(want) < 4 || !slices.Equal(got, want) {
			t.Errorf("%s: with %d addresses signed it copies %#x, want %#x", name, signed, got, want)
		}
	})
}

// TestInitialises: the classes on a stack are looked at where it leads to a function that initialises one, and the
// thread itself is taken for no method.
func TestInitialises(t *testing.T) {
	in := &inner{}
	in.addInitialiser(mem.Span[mem.Addr]{Start: 0x4000, End: 0x4100})
	in.addInitialiser(mem.Span[mem.Addr]{Start: 0x2000, End: 0x2100})
	r := &regs.Registers{Arch: regs.AMD64}
	r.Set(regs.AMD64RSP, 0x1010)
	for word, want := range map[uint64]bool{0x4001: true, 0x4100: true, 0x4000: false, 0x4101: false, 0: false,
		0x2a<<48 | 0x4001: true} { // signed
		th := &snapshot.Thread{Registers: r, PACMask: 0x7f << 48,
			Stack: mem.Range{Start: 0x1000, Data: make([]byte, 64)}}
		binary.LittleEndian.PutUint64(th.Stack.Data[0x20:], word)
		if got := in.initialises(th); got != want {
			t.Errorf("%#x on the stack: %v, want %v", word, got, want)
		}
		binary.LittleEndian.PutUint64(th.Stack.Data, 0x4001) // left over
		if got := in.initialises(th); got != want {
			t.Errorf("%#x on the stack, and another below it: %v, want %v", word, got, want)
		}
	}
	w := wanted{thread: 0x7f0000001000}
	w.method(0x7f0000001000)
	w.method(0x7f0000002000)
	if w.m != 1 || w.methods[0] != 0x7f0000002000 {
		t.Errorf("methods %#x, want the second", w.methods[:w.m])
	}
}
