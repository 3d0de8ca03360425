package unwind

import (
	"encoding/binary"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// threeRuntimes are two runtimes without code before one whose code is all of jit's.
type threeRuntimes struct{}

func (threeRuntimes) All() []Runtime      { return []Runtime{noCode{}, noCode{}, jitRuntime{}} }
func (threeRuntimes) Meet(*module.Module) {}
func (threeRuntimes) Scan(*module.Set)    {}

type noCode struct{}

func (noCode) Region(mem.Addr) (Region, bool) { return Region{}, false }
func (noCode) String() string                 { return "none" }

type jitRuntime struct{}

func (jitRuntime) Region(pc mem.Addr) (Region, bool) {
	return Region{Start: jitBase, End: jitEnd}, pc >= jitBase && pc < jitEnd
}

func (jitRuntime) Row(_ Region, pc mem.Addr, _ bool) (*cfi.Row, bool, error) {
	return &cfi.Row{RAReg: uint64(regs.AMD64RIP), CFA: cfi.Rule{Kind: cfi.Register, Reg: uint64(regs.AMD64RSP), N: 16},
		RA: cfi.Rule{Kind: cfi.Offset, N: -8}}, true, nil
}

func (jitRuntime) String() string { return "jit" }

// BenchmarkWalkOfMadeCode walks 40 frames of code that no file holds: the same code at one
// moment, the same code at other moments, where it is read to be compared, or where the last of three runtimes
// has rows for it, and new code. The memory is not that of another process, so no system call is in it.
func BenchmarkWalkOfMadeCode(b *testing.B) {
	const depth, stackAt, stackEnd = 40, 0x7ffe0000, 0x7fff0000
	table := maps.NewTable([]maps.Mapping{{Start: jitBase, End: jitEnd, Perm: maps.Read | maps.Exec},
		{Start: stackAt, End: stackEnd, Perm: maps.Read | maps.Write, Path: "[stack]"}})
	stack := make([]byte, 16*(depth+1))
	memory := mem.NewOverlay(jit{}, mem.Range{Start: stackAt, Data: stack})
	r := regs.New(regs.AMD64)
	r.Set(regs.AMD64RSP, stackAt)
	r.Set(regs.AMD64RBP, 1)
	th := &snapshot.Thread{TID: 1, Registers: &r}
	draw := func(i int) {
		r.Set(regs.AMD64RIP, jitReturn(i*depth))
		for j := range depth - 1 {
			binary.LittleEndian.PutUint64(stack[16*j:], 1)
			binary.LittleEndian.PutUint64(stack[16*j+8:], jitReturn(i*depth+j+1))
		}
	}
	for _, row := range []struct {
		name       string
		renew, new bool
		runtimes   Runtimes
	}{{"one moment", false, false, nil}, {"other moments", true, false, nil}, {"new code", true, true, nil},
		{"other moments, of a runtime", true, false, threeRuntimes{}}} {
		b.Run(row.name, func(b *testing.B) {
			w, s, i := NewWalker(module.NewSet(table, module.Image{Memory: jit{}}), nil), Stack{}, 0
			if row.runtimes != nil {
				w.Use(row.runtimes)
			}
			draw(0)
			w.WalkInto(&s, th, memory, Options{})
			b.ReportAllocs()
			for b.Loop() {
				if row.new {
					i = (i + 1) % 100_000
					draw(i)
				}
				if row.renew {
					w.Renew()
				}
				w.WalkInto(&s, th, memory, Options{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/depth, "ns/frame")
		})
	}
}
