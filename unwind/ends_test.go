package unwind_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
)

// mostLoops is more than the steps that a walk may take without its stack pointer going up.
const mostLoops = 70

// Tables whose rows lead back to where they were end a walk, and not at the limit of frames.
func TestRowsThatLeadNowhere(t *testing.T) {
	const rsp, rax, ra = 7, 0, 16
	for _, tc := range []struct {
		name    string
		program []byte // behind CFA = rsp+8 and the return address at CFA-8
		stack   []uint64
		want    string // of the reason
	}{
		{"SP is what it was", []byte{defCFA, rsp, 16, offset | ra, 2, valOffset, rsp, 2}, []uint64{0x10108},
			"is the same frame"},
		{"SP goes down", []byte{defCFA, rsp, 16, offset | ra, 2, valOffset, rsp, 3}, []uint64{0x10108}, "not mapped"},
		// DW_OP_breg7 0
		{"SP by an expression", []byte{defCFA, rsp, 16, offset | ra, 2, valExpression, rsp, 2, 0x77, 0},
			[]uint64{0x10108}, "is the same frame"},
		{"SP by a register", []byte{defCFA, rsp, 16, offset | ra, 2, 0x09, rsp, 12}, []uint64{0x10108},
			"is the same frame"},
		{"SP is lost", []byte{defCFA, rsp, 16, offset | ra, 2, undefined, rsp}, []uint64{0x10108}, "not known"},
		{"SP is misaligned", []byte{defCFA, rsp, 16, offset | ra, 2, 0x09, rsp, 3}, []uint64{0x10108}, "not aligned"},
		{"SP points to code", []byte{defCFA, rsp, 16, offset | ra, 2, 0x09, rsp, 13}, []uint64{0x10108}, "no stack"},
		{"two frames in turn", []byte{defCFA, rsp, 16, offset | ra, 2, valOffset, rsp, 2}, []uint64{0x10188},
			"is not above"},
		{"frame of no size, return address in a register", []byte{defCFA, rsp, 0, 0x09, ra, rax}, nil,
			"is the same frame"},
	} {
		for _, augmentation := range []string{"zR", "zRS"} {
			t.Run(tc.name+" "+augmentation, func(t *testing.T) {
				d := newDrawn(regs.AMD64)
				d.tables = &ehFrame{order: d.arch.Order}
				cie := d.tables.cie(augmentation, ra)
				d.tables.fde(cie, 0x10100, 16, tc.program...)
				d.tables.fde(cie, 0x10180, 16, defCFA, rsp, 16, 0x09, ra, rax, valOffset, rsp, 2)
				d.put(0x100, 0xc3, 0xcc, 0xcc, 0xe8, 0, 2, 0, 0) // ret; a call of 0x10308: the code leads nowhere else
				for _, v := range tc.stack {
					d.stack.Word(v)
				}
				d.stack.Skip(4)
				s := d.walk(t, unwind.Options{}, map[regs.Reg]uint64{regs.AMD64RIP: 0x10108, regs.AMD64RSP: stackBase +
					0x1000,
					regs.AMD64RAX: 0x10108, regs.AMD64RBX: stackBase + 0x1ffd, 12: stackBase + 0x1000, 13: codeBase +
						0x800})
				if s.Stop == unwind.Root || s.Stop == unwind.DepthLimit || len(s.Frames) > mostLoops ||
					!strings.Contains(fmt.Sprint(s.Err), tc.want) {
					t.Errorf("got %d frames, %v (%v), want at most %d and %q", len(s.Frames), s.Stop, s.Err, mostLoops,
						tc.want)
				}
			})
		}
	}
}

// The record of riscv64 and loong64 is below what the frame pointer points to.
func TestRecordBelowTheFramePointer(t *testing.T) {
	for _, a := range []*regs.Arch{regs.RISCV64, regs.LOONG64} {
		for _, tc := range []struct {
			name string
			draw func(s *memory.Image)
			want string
		}{
			{"points to itself", func(s *memory.Image) {
				s.Skip(2).Ref("fp").Word(0x10100).Label("fp").Skip(2)
			}, "0x10800(context) 0x10100(frame pointer) not advancing"},
			{"begins below SP", func(s *memory.Image) {
				s.Skip(1).Label("fp").Skip(4)
			}, "0x10800(context) not advancing"},
			{"two records, the last at the end of the stack", func(s *memory.Image) {
				s.Skip(2).Word(stackEnd).Word(0x10100).Label("fp")
				s.Skip((stackEnd-stackBase-0x1000)/8 - 6).Word(0).Word(0x10200)
			}, "0x10800(context) 0x10100(frame pointer) 0x10200(frame pointer) root"},
		} {
			t.Run(a.Name+"/"+tc.name, func(t *testing.T) {
				d := newDrawn(a)
				tc.draw(d.stack)
				s := d.walk(t, unwind.Options{Mode: unwind.FramePointersOnly}, map[regs.Reg]uint64{
					a.PC: 0x10800, a.SP: stackBase + 0x1000, a.FP: uint64(d.stack.Addr("fp"))})
				if got := show(s); got != tc.want {
					t.Errorf("got  %s (%v)\nwant %s", got, s.Err, tc.want)
				}
			})
		}
	}
}

// Whatever tables, registers and memory say, a walk ends by itself: between two of the few steps that go down
// a stack has at most as many frames as words.
func TestEveryWalkEnds(t *testing.T) {
	const words = 256
	const small = stackEnd - words*8
	for seed := range uint64(4000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		pick := func(of ...uint64) uint64 { return of[rnd.IntN(len(of))] }
		pc := func() uint64 { return pick(0x10100, 0x10108, 0x10208, 0x10308, 0x10408) }
		value := func() uint64 {
			return pick(pc(), small+8*rnd.Uint64N(words), small+rnd.Uint64N(8*words), rnd.Uint64N(64))
		}
		rule := func(reg byte) []byte {
			n := byte(rnd.IntN(6))
			return [][]byte{nil, {undefined, reg}, {0x08, reg}, {0x05, reg, n}, {valOffset, reg, n},
				{0x09, reg, byte(rnd.IntN(17))},
				{valExpression, reg, 2, 0x70 | byte(rnd.IntN(16)), n << 3}, {0x10, reg, 2, 0x70 | byte(rnd.IntN(16)),
					n << 3}}[rnd.IntN(8)]
		}
		d := newDrawn(regs.AMD64)
		d.tables = &ehFrame{order: d.arch.Order}
		for start := uint64(0x10100); start <= 0x10400; start += 0x100 {
			program := []byte{defCFA, byte(pick(7, 7, 6, 3)), byte(8 * rnd.IntN(5)), offset | 16, byte(rnd.IntN(4))}
			for _, reg := range []byte{16, 7, 6, 3} {
				if rnd.IntN(2) == 0 {
					program = append(program, rule(reg)...)
				}
			}
			d.tables.fde(d.tables.cie([]string{"zR", "zR", "zRS"}[rnd.IntN(3)], 16), start, 16, program...)
			d.call(int(start-codeBase) + 8)
		}
		if rnd.IntN(4) == 0 {
			d.put(0x308, restoreRT...)
		}
		stack := memory.NewImage(small, 8, d.arch.Order)
		for range words {
			stack.Word(value())
		}
		r := regs.New(d.arch)
		for reg := range regs.Reg(16) {
			r.Set(reg, value())
		}
		r.Set(d.arch.PC, pc())
		r.Set(d.arch.SP, small+8*rnd.Uint64N(words/4))
		table := maps.NewTable([]maps.Mapping{
			{Start: codeBase, End: codeEnd, Perm: maps.Read | maps.Exec, Inode: 1, Offset: objectCode, Path: "/drawn"},
			{Start: small, End: stackEnd, Perm: maps.Read | maps.Write, Path: "[stack]"},
		})
		ranges := []mem.Range{{Start: codeBase, Data: d.code}, stack.Range()}
		memory := mem.NewOverlay(nil, ranges...)
		w := unwind.NewWalker(module.NewSet(table, module.Image{Mapping: d.open, Memory: memory}), nil)
		th := &snapshot.Thread{TID: 1, Registers: &r, Stack: stack.Range()}
		for range 2 { // the second time code has been read
			opt := unwind.Options{Mode: unwind.Mode(rnd.IntN(2))}
			s := w.Walk(th, memory, opt)
			if d := differ(w.Walk(th, wordByWord(d.arch, small, ranges...), opt), s); d != "" {
				t.Fatalf("seed %d: walked word by word: %s", seed, d)
			}
			if len(s.Frames) > mostLoops*words {
				t.Fatalf("seed %d: %d frames and %v (%v), want at most %d", seed, len(s.Frames), s.Stop, s.Err,
					mostLoops*words)
			}
		}
	}
}
