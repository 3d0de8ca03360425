package unwind

import (
	"encoding/binary"
	"errors"
	"flag"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/work"
)

// TestSites holds the table against a map, up to its bound and beyond.
func TestSites(t *testing.T) {
	type key struct {
		pc          mem.Addr
		interrupted bool
	}
	for _, tc := range []struct {
		name string
		pc   func(i int) mem.Addr
	}{
		{"neighbours", func(i int) mem.Addr { return mem.Addr(i) }},
		{"pages", func(i int) mem.Addr { return mem.Addr(i) << 12 }},
		{"highest bits", func(i int) mem.Addr { return mem.Addr(i) << 48 }},
		{"at random", func(int) mem.Addr { return mem.Addr(rand.Uint64()) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table, want := newSites(), map[key]*site{}
			for i := range 3 * maxSites {
				k := key{tc.pc(i / 2), i%2 == 0}
				if got := table.get(k.pc, k.interrupted); got != want[k] {
					t.Fatalf("before %d: got %p at %#x, want %p", i, got, uint64(k.pc), want[k])
				}
				if want[k] != nil {
					continue
				}
				if len(want) == maxSites {
					clear(want)
				}
				want[k] = &site{pc: k.pc, interrupted: k.interrupted}
				table.add(want[k])
				if table.used != len(want) || table.used > maxSites {
					t.Fatalf("%d sites are kept, want %d", table.used, len(want))
				}
			}
			for k, s := range want {
				if got := table.get(k.pc, k.interrupted); got != s {
					t.Fatalf("got %p at %#x, want %p", got, uint64(k.pc), s)
				}
			}
		})
	}
}

const (
	jitBase = 0x10_0000_0000
	jitEnd  = 0x11_0000_0000
	jitSize = 16 // bytes of a function
)

// jit is a memory that is full of functions of 16 bytes, each "call next" and behind it the end
// of a function: "pop rbp; ret".
type jit struct{}

func (jit) ReadMem(b []byte, addr mem.Addr) (int, error) {
	const code = "\xe8\x00\x00\x00\x00\x5d\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc"
	for i := range b {
		at := addr + mem.Addr(i)
		if at < jitBase || at >= jitEnd {
			return i, &mem.FaultError{Addr: at, Len: len(b) - i, Err: mem.ErrUnmapped}
		}
		b[i] = code[at%jitSize]
	}
	return len(b), nil
}

// jitReturn is the return address in function i.
func jitReturn(i int) uint64 { return jitBase + uint64(i)*jitSize + 5 }

var newCode = flag.Int("new-code", 400_000,
	"return addresses that TestNewCodeForEver makes, several times maxSites; 5 us each")

// TestNewCodeForEver walks stacks of a program that makes new code all the time.
func TestNewCodeForEver(t *testing.T) {
	const depth, stackAt, stackEnd = 40, 0x7ffe0000, 0x7fff0000
	walks := *newCode / depth
	table := maps.NewTable([]maps.Mapping{{Start: jitBase, End: jitEnd, Perm: maps.Read | maps.Exec},
		{Start: stackAt, End: stackEnd, Perm: maps.Read | maps.Write, Path: "[stack]"}})
	w := NewWalker(module.NewSet(table, module.Image{Memory: jit{}}), nil)
	stack := make([]byte, 16*(depth+1))
	memory := mem.NewOverlay(jit{}, mem.Range{Start: stackAt, Data: stack})
	r := regs.New(regs.AMD64)
	th := &snapshot.Thread{TID: 1, Registers: &r}
	var s Stack
	var early, late runtime.MemStats
	for i := range walks {
		r.Set(regs.AMD64RIP, jitReturn(i*depth))
		r.Set(regs.AMD64RSP, stackAt)
		r.Set(regs.AMD64RBP, 1)
		for j := range depth - 1 {
			binary.LittleEndian.PutUint64(stack[16*j:], 1)
			binary.LittleEndian.PutUint64(stack[16*j+8:], jitReturn(i*depth+j+1))
		}
		w.Renew()
		w.WalkInto(&s, th, memory, Options{})
		if len(s.Frames) != depth || s.Stop != NoRule {
			t.Fatalf("walk %d: got %d frames and %v (%v), want %d and %v", i, len(s.Frames), s.Stop, s.Err, depth,
				NoRule)
		}
		for j := range s.Frames {
			if want := mem.Addr(jitReturn(i*depth + j)); s.Frames[j].PC != want {
				t.Fatalf("walk %d, frame %d: got %#x, want %#x", i, j, uint64(s.Frames[j].PC), uint64(want))
			}
		}
		switch i {
		case walks / 3:
			runtime.GC()
			runtime.ReadMemStats(&early)
		case walks - 1:
			runtime.GC()
			runtime.ReadMemStats(&late)
		}
	}
	if w.sites.used > maxSites || len(w.paths) > maxPaths {
		t.Errorf("%d sites and %d paths are kept, want at most %d and %d", w.sites.used, len(w.paths), maxSites,
			maxPaths)
	}
	// What is kept saws between nothing and the bound: some 25 MB.
	const most = 40 << 20
	if late.HeapAlloc > most || late.HeapAlloc > early.HeapAlloc+most {
		t.Errorf("the heap grew from %d to %d bytes, want at most %d", early.HeapAlloc, late.HeapAlloc, most)
	}
}

// A search that may not be made for now is made later: having been refused is not remembered.
func TestBudgetComesBack(t *testing.T) {
	budget := work.New(1<<20, 1<<20)
	set := module.NewSet(maps.NewTable(nil), module.Image{})
	set.Charge(budget)
	w := NewWalker(set, nil)
	// push rbp; nop; nop; pop rbp; ret
	code := newText(regs.AMD64, 0x1000, []byte{0x55, 0x90, 0x90, 0x5d, 0xc3}, budget)
	c := &cursor{w: w, arch: regs.AMD64, frames: []Frame{{Module: &module.Module{}}}}
	budget.Spend(2 << 20)
	if row := c.fromTarget(code, 0, 0x1000, 0x1002); row != nil || !errors.Is(c.refused, work.ErrSpent) {
		t.Fatalf("without budget: got %+v, refused %v", row, c.refused)
	}
	c.earn(budget)
	row := c.fromTarget(code, 0, 0x1000, 0x1002)
	if row == nil || row.CFA.Kind != cfi.Register || row.CFA.N != 16 { // behind the push
		t.Fatalf("with budget: got %+v, want a CFA of rsp+16", row)
	}
	budget.Spend(2 << 20)
	if again := c.fromTarget(code, 0, 0x1000, 0x1002); again != row {
		t.Errorf("found before, without budget: got %+v", again)
	}
	c.earn(budget)
	if err := budget.Err(); err != work.ErrSpent {
		t.Errorf("a second refill in one walk: got %v", err)
	}
}
