package coreclr

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/coreclr/unwindcode"
	"github.com/fpstack/fpstack/vm/view"
)

// tripWords is the function that stops threads as 10.0.12 has it for arm64.
var tripWords = []uint32{0xa9b47bfd, 0x910003fd, 0xa90153f3, 0xa9025bf5, 0xa90363f7, 0xa9046bf9, 0xa90573fb, 0xa90607e0,
	0xf9003be2, 0xad0407e0, 0xad050fe2, 0x910003e0, 0x97fcb4db, 0xa94607e0, 0xf9403be2, 0xad4407e0, 0xad450fe2,
	0xa94153f3, 0xa9425bf5, 0xa94363f7, 0xa9446bf9, 0xa94573fb, 0xa8cc7bfd, 0xd65f03c0}

// tripWords9 is that function as 8.0.6, 9.0.5 and 9.0.9 have it.
var tripWords9 = []uint32{
	0xa9b57bfd, 0x910003fd, 0xa90153f3, 0xa9025bf5, 0xa90363f7, 0xa9046bf9, 0xa90573fb, 0xa90607e0,
	0xad0387e0, 0xad048fe2, 0x910003e0, 0x97fca695, 0xa94607e0, 0xad4387e0, 0xad448fe2, 0xa94153f3,
	0xa9425bf5, 0xa94363f7, 0xa9446bf9, 0xa94573fb, 0xa8cb7bfd, 0xd65f03c0,
}

func codeOf(words []uint32) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// TestTripARM64: before the call the true return address is not on the stack; behind it the frame has it, and all
// registers of the caller, until it is gone.
func TestTripARM64(t *testing.T) {
	before := []uint32{0xd65f03c0, 0xa9bf7bfd, 0xd65f03c0} // of other functions, one of which begins in the same way
	code := codeOf(append(before, tripWords...))
	for at := range len(code) {
		x, begin := tripARM64(code, at)
		if in := at >= len(before)*instruction; in != (x != nil && begin == len(before)*instruction) {
			t.Fatalf("at %#x: %+v, from %#x on", at, x, begin)
		}
	}
	for _, c := range []struct {
		words []uint32
		call  int // instructions up to behind it
		frame int64
	}{{tripWords, 13, 192}, {tripWords9, 12, 176}} {
		x := parseTripARM64(codeOf(c.words))
		if x == nil || x.call != c.call*instruction || len(x.depth) != len(c.words)*instruction {
			t.Fatalf("%+v", x)
		}
		for at := range mem.Addr(x.call) {
			if x.row(at, true) != nil {
				t.Errorf("interrupted at %#x it has a row", at)
			}
		}
		for i := c.call; i < len(c.words)-1; i++ {
			row := x.row(mem.Addr(i*instruction), true)
			if row.CFA.N != c.frame || row.RA.N != 8-c.frame || row.Rule(29).N != -c.frame ||
				row.Rule(19).N != 16-c.frame || row.Rule(28).N != 88-c.frame || row.RAReg != uint64(regs.ARM64LR) {
				t.Errorf("at instruction %d: %+v", i, row)
			}
		}
		last := x.row(mem.Addr(len(x.depth)-instruction), true)
		if last.CFA.N != 0 || last.RA.Kind != cfi.Unspecified || len(last.Regs) != 0 {
			t.Errorf("where it returns: %+v", last)
		}
	}
	for name, words := range map[string][]uint32{
		"nothing": nil, "its beginning": tripWords[:14],
		"another frame":   append([]uint32{0xa9bf7bfd}, tripWords[1:]...),
		"no call":         append(append([]uint32{}, tripWords[:12]...), tripWords[13:]...),
		"keeps no result": append(append([]uint32{}, tripWords[:7]...), tripWords[8:]...),
	} {
		if x := parseTripARM64(codeOf(words)); x != nil {
			t.Errorf("%s is taken for it", name)
		}
	}
}

// TestReplacedReturnARM64: the place of the replaced return address is somewhere in the frame that has returned; from
// its second instruction on the caller's x29 is on the stack alone.
func TestReplacedReturnARM64(t *testing.T) {
	const code, slot, sp = drawnCode, 0x38f48, 0x39000
	r := replacedReturn(t, &onARM64, Version{10, 0, 12}, slot, map[int]uint64{
		drawnThreads + 0x230: 0x99, // is no managed code
		drawnThreads + 0x238: slot + 8,
		sp - 192:             0x39400,
	})
	x := parseTripARM64(codeOf(tripWords))
	x.start = 0x5000
	for _, c := range []struct {
		name   string
		tid    int
		pc, sp mem.Addr
		fp     uint64 // 0: declined
	}{
		{"returns to its beginning", 812, 0x5000, sp, 0x39800},
		{"has made its frame", 812, 0x5004, sp - 192, 0x39400},
		{"is about to call", 812, 0x5030, sp - 192, 0x39400},
		{"is another thread", 813, 0x5000, sp, 0},
		{"was replaced elsewhere", 812, 0x5000, slot - 0x100, 0},
	} {
		r.Start(&snapshot.Thread{TID: c.tid}, r.live)
		rs := regs.New(regs.ARM64)
		rs.Set(regs.ARM64SP, uint64(c.sp))
		rs.Set(regs.ARM64FP, 0x39800)
		rs.Set(regs.ARM64LR, uint64(x.start))
		got, err := r.crossTrip(x, &unwind.Frame{PC: c.pc, Interrupted: true}, &rs, r.live)
		if c.fp == 0 {
			if err == nil {
				t.Errorf("%s: %+v", c.name, got)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		pc, _ := got.Registers.PC()
		fp, _ := got.Registers.FP()
		above, _ := got.Registers.SP()
		if _, known := got.Registers.Get(regs.ARM64LR); pc != code+0x44 || above != sp ||
			uint64(fp) != c.fp || known {
			t.Errorf("%s: PC %#x, SP %#x, x29 %#x, x30 known: %t", c.name, uint64(pc), uint64(above), uint64(fp), known)
		}
	}
}

// TestFunctionEnds: where a function of arm64 ends its record says; where that is none, it is not known.
func TestFunctionEnds(t *testing.T) {
	const base = 0x1000
	memory := mem.NewOverlay(nil, mem.Range{Start: base, Data: codeOf([]uint32{0x08400005, 0xe4e48100, 0, 0})})
	v := view.Over(nil, memory, nil)
	list := codeOf([]uint32{0x40, 0, 0x100, 0, 0x80, 1}) // the second begins last
	for _, c := range []struct {
		rel   uint64
		begin uint32
		found bool
		end   uint32 // 0: not known
	}{{0x3f, 0, false, 0}, {0x40, 0x40, true, 0x54}, {0x80, 0x80, true, 0}, {0x1000, 0x100, true, 0x114}} {
		f, found := onARM64.holding(list, c.rel)
		if found != c.found || f.Begin != c.begin {
			t.Errorf("%#x is in %+v, %t", c.rel, f, found)
		}
		if !found {
			continue
		}
		if err := onARM64.end(&v, base, &f); f.End != c.end || (err == nil) != (c.end != 0) {
			t.Errorf("%+v: %v, want its end at %#x", f, err, c.end)
		}
	}
	f := unwindcode.Function{Begin: 1, End: 2, Info: 3}
	if err := onAMD64.end(&v, base, &f); err != nil || f.End != 2 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestLinkIsCopied: of a return address that is in x30 alone the method is copied in the stop.
func TestLinkIsCopied(t *testing.T) {
	const code, nibbles = 0x10000000, 0x5000
	l, err := layoutOf(&object{port: &onARM64, version: Version{10, 0, 12}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRuntime(&object{port: &onARM64}, 0, l, module.Image{Memory: mem.NewOverlay(nil)})
	one := section{start: code, end: code + 1<<24, flags: codeHeap}
	one.heap.start, one.heap.base, one.heap.nibbles = code, code, nibbles
	r.sections.Store(&sections{list: []section{one}, low: code, high: one.end})
	for link, want := range map[uint64]bool{code + 0x1004: true, code - 0x1000: false} {
		rs := regs.New(regs.ARM64)
		rs.Set(regs.ARM64PC, 0x7000)
		rs.Set(regs.ARM64SP, 0x1000)
		rs.Set(regs.ARM64LR, link)
		th := &snapshot.Thread{Arch: regs.ARM64, Registers: &rs, Stack: mem.Range{Start: 0x1000}}
		f := snapshot.Fetcher{Budget: snapshot.Budget{Calls: 99, Ranges: 999, Bytes: 1 << 20, Time: time.Hour}}
		f.Used = func() time.Duration { return 0 }
		var asked pieces
		f.Run([]snapshot.Copier{r}, th, &asked)
		got := slices.ContainsFunc(asked, func(a mem.Addr) bool { return a >= nibbles && a < nibbles+0x1000 })
		if got != want {
			t.Errorf("with x30 %#x its nibble map is read: %t, want %t (%#x)", link, got, want, asked)
		}
	}
}

// pieces are the places that were read.
type pieces []mem.Addr

func (p *pieces) ReadPieces(list []snapshot.Piece) error {
	for _, x := range list {
		*p = append(*p, x.Addr)
	}
	return nil
}

func FuzzTripARM64(f *testing.F) {
	f.Add(codeOf(tripWords), 0x40)
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		if at < 0 || at >= len(b) {
			return
		}
		if x, begin := tripARM64(b, at); x != nil && at >= begin && at-begin < len(x.depth) {
			x.row(mem.Addr(at-begin), true)
		}
	})
}
